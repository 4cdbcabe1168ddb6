"""Figures of chapter 5: maps of heads, and two ways to split features."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from attnbook.analysis.word_maps import SPACE
from attnbook.course.kit.heat_maps import PALE_LINES, colour_bar, heat_map
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

QUERY_AND_KEY = {"roles": ("query", "key"), "titles": ("query", "key")}


# Maps of the translator


def translator_heads_figure(weights: Tensor, tokens: Sequence[str]) -> Figure:
    """Draw the self-attention of four heads on one sentence."""
    words = [token.replace(SPACE, "") for token in tokens]
    fig, axes = plt.subplots(2, 2, figsize=(5.5, 6.6), layout="compressed")
    for number, (ax, cells) in enumerate(zip(axes.flat, weights, strict=True), 1):
        names = {"rows": words, "columns": words, **QUERY_AND_KEY}
        heat_map(ax, 100 * cells, square=True, vmax=100, **names, **PALE_LINES)
        ax.set_title(f"head {number}")
        ax.label_outer()
    colour_bar([*axes.flat], "weight, %")
    return fig


# One word, two sources

PARTS = ("stem", "ending")  # of a possessive


def possessives() -> dict:
    """The run of ``two_sources`` with the shipped translator."""
    return stored_runs("two_sources", translator="shipped")[0]


def two_sources_table() -> Table:
    """What a possessive keeps without an English word, or the heads on this word."""
    found = possessives()
    hidden = {run["hidden"]: run for run in found["hidden"]}
    changed = {
        (run["mostly on"], run["how"] == "held at their mean"): run
        for run in found["removed"]
    }
    rows = []
    for name, word, on in (
        ("the possessive", "the possessive", "the possessive"),
        ("the next word", "the next word", "the next word"),
        ("a random word, or three random heads", "a word at random", "neither"),
    ):
        runs = hidden[word], changed[on, False], changed[on, True]
        shares = [100 * run[of] / found["cases"] for run in runs for of in PARTS]
        rows.append((name, *shares))
    columns = [
        Column(part, "%", group)
        for group in ("hidden", "its heads at zero", "its heads at their mean")
        for part in PARTS
    ]
    return table(["English word", *columns], rows)


# Two answers


@torch.no_grad()
def colours_figure(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Figure:
    """Draw the colours that are wanted, and those that a model gives, as patches."""
    colours, answers = (of[0] for of in batch)  # (L, 3), (L, 2, 3)
    given = model(batch[0][:1])[0]  # (L, 2, 3)
    rows = {"input": colours}
    for back, name in enumerate(("one back", "two back")):
        rows[f"{name}: wanted"] = answers[:, back]
        rows[f"{name}: given"] = given[:, back]
    fig, ax = plt.subplots(figsize=(5.5, 2.6))
    for y, shown in enumerate(rows.values()):
        for x, colour in enumerate(torch.special.ndtr(shown).tolist()):
            # Position 1 has no colour one back, positions 1 and 2 none two back.
            if x >= (y + 1) // 2:
                ax.add_patch(Rectangle((x, y), 0.94, 0.86, facecolor=colour))
    ax.set(xlim=(0, len(colours)), ylim=(len(rows), -0.1))
    ax.set_yticks([y + 0.43 for y in range(len(rows))], rows)
    ax.set_xticks([x + 0.47 for x in range(len(colours))], range(1, len(colours) + 1))
    ax.set_xlabel("position")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(visible=False)
    return fig


def missing_table() -> Table:
    """Which share of two colours' variance is missing, by model."""
    runs = [run for run in stored_runs("two_colours") if run["model"] != "two heads"]
    name = "missing, both colours together"
    return pivot(
        runs, "model", None, Value(lambda run: 50 * sum(run["missing"]), "%", name=name)
    )
