"""Figures and tables of chapter 2, and what its laboratory shares with them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.kit.alignment_maps import alignment_map
from attnbook.course.kit.heat_maps import PALE_LINES, colour_bar, heat_map, numbers_from
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.language import Pair
from experiments.ch02_learning import PARTS

# Learning where to attend


def halted_table() -> Table:
    """What is seen after 60 steps, without attention and with it."""
    columns = [
        "context",
        Column("loss", "nats per token", digits=2),
        Column("exact match", "%", digits=1),
        Column("alignment accuracy", "%"),
    ]
    rows: list[tuple[str | Spread | None, ...]] = []
    for name, label in {"static": "static", "attention": "attention"}.items():
        runs = stored_runs("halted_early", model=name)
        losses = spread(run["loss"] for run in runs)
        exact = spread(100 * run["exact"] for run in runs)
        aligned = [100 * run["alignment"] for run in runs if "alignment" in run]
        rows.append((label, losses, exact, spread(aligned) if aligned else None))
    return table(columns, rows)


def frozen_table() -> Table:
    """When attention is learned if a part of the model learns nothing at first."""
    labels = {"all but the score": "everything but the score"}
    rows: list[tuple[str | float, ...]] = []
    for part in PARTS:
        runs = stored_runs("frozen_at_first", frozen=part)
        rows.append(
            (labels.get(part, part), *(r["reached"] or "not by 700" for r in runs))
        )
    group = "step at which the alignment accuracy reaches 90 %"
    columns = [Column(f"seed {run['seed']}", group=group) for run in runs]
    return table(["frozen for 60 steps", *columns], rows)


# Alignment maps


def _source_on_top(ax: Axes) -> None:
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params("x", length=0)


def word_map_figure(
    weights: Tensor, target: Sequence[str], source: Sequence[str]
) -> Figure:
    """Draw the weights of a sentence whose alignment nobody knows."""
    cells = 100 * weights
    size = max(5.5, 1.8 + 0.36 * len(source)), 2.4 + 0.27 * len(target)
    fig, ax = plt.subplots(figsize=size)
    heat_map(
        ax,
        cells,
        rows=target,
        columns=source,
        roles=("target", "source"),
        titles=("target word", "source word"),
        turn=60,
        notes=numbers_from(cells, 10),
        vmax=100,
        **PALE_LINES,
    )
    _source_on_top(ax)
    plt.setp(ax.get_xticklabels(), ha="left", rotation_mode="anchor")
    colour_bar(ax, "weight, %")
    return fig


# Do weights explain?


def late_attention_runs(held: int) -> dict[str, list[float]]:
    """The stored runs in which weights were held uniform for ``held`` steps."""
    runs = stored_runs("late_attention", held=held)
    found: dict[str, list[float]] = {"hidden": [run["hidden"][1] for run in runs]}
    for entry in ("exact", "align"):
        found[entry] = [100 * fmean(run[entry][n] for n in "1234") for run in runs]
    return found


def cover_table() -> Table:
    """Clicks and covers, in the usual model and in its twin."""
    effects = "median drop of log p if covered, in nats"
    columns = [
        "model",
        Column("clicked words that were written", digits=0),
        Column("aligned word", "all", effects, 2),
        Column("aligned word", "nouns", effects, 2),
        Column("neighbours too", "all", effects, 2),
        Column("another word", "all", effects, 2),
    ]
    names = {0: "usual", 150: "twin"}
    rows: list[tuple[str | float, ...]] = []
    for held, name in names.items():
        [run] = stored_runs("click_or_cover", held=held)
        hits, trials = run["clicks"]["same"]
        covered, nouns = run["covered"]["all"], run["covered"]["noun"]
        drops = (covered[c] + 0.0 for c in ("neighbours too", "another word"))
        aligned = covered["aligned"], nouns["aligned"]
        rows.append((name, f"{hits:,} of {trials:,}", *aligned, *drops))
    return table(columns, rows)


def links_table() -> Table:
    """How often the largest weight of the caption translator finds the linked word."""
    found = results.load("caption_links")
    moved = found["moved"]
    columns = [
        "links",
        Column("number"),
        Column("largest weight", "%"),
        Column("diagonal", "%"),
    ]
    rows = [
        (
            "all",
            found["links"],
            100 * found["found"] / found["links"],
            100 * found["diagonal"] / found["links"],
        ),
        ("moved", moved["links"], 100 * moved["found"] / moved["links"], 0),
    ]
    return table(columns, rows)


def weight_and_effect_figure(
    weights: Tensor, effects: dict[str, Tensor], pair: Pair
) -> Figure:
    """Draw the weights, and below them the effects of removing each position."""
    panels = {
        "weight, %": (100 * weights, 5, 100, ".0f"),
        "nats lost if hidden at this step": (effects["hidden"], 0.1, 10, ".1f"),
        "nats lost if replaced in the source": (effects["replaced"], 0.1, 10, ".1f"),
    }
    fig, axes = plt.subplots(3, 1, figsize=(5.5, 8.6), sharex=True)
    for ax, (title, panel) in zip(axes, panels.items(), strict=True):
        alignment_map(ax, panel[0], pair, *panel[1:])
        ax.set_title(title)
        ax.label_outer()
    return fig
