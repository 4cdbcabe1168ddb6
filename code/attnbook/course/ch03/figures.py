"""Figures of chapter 3."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.kit.colours import (
    COLOURS,
    DARK_GREY,
    INK,
    PALE_GREY,
    SKY,
    text_colour,
)
from attnbook.course.kit.heat_maps import PALE_LINES, colour_bar, frame_cells, heat_map
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.language import VERBS, Pair

MARKS = {  # entry of a stored run: mark, colour, label
    "exact": ("o", INK, "○ exact match"),
    "output": ("D", SKY, "◆ aligned with output"),
    "input": ("^", DARK_GREY, "▲ with input"),
}


def stored_map(name: str, seed: int = 0) -> Tensor:
    """Weights of a stored run for the first held-out pair of two clauses, (T, S)."""
    return torch.tensor(stored_runs(name, seed=seed)[0]["map"])


def two_ways_figure() -> Figure:
    """Draw exact match and the alignment with either word: ``alignment_two_ways``.

    One row for each model, and in it three marks for each seed, joined by a line.
    """
    runs = stored_runs("alignment_two_ways")
    names = list(dict.fromkeys(run["model"] for run in runs))
    fig, ax = plt.subplots(figsize=(5.5, 1.3 + 0.5 * len(names)))
    for line, name in enumerate(names):
        seeds = [run for run in runs if run["model"] == name]
        for number, run in enumerate(seeds):
            y = line + 0.6 * ((number + 0.5) / len(seeds) - 0.5)
            shares = {entry: 100 * run[entry] for entry in MARKS}
            ax.plot([*shares.values()], [y] * 3, color=PALE_GREY, lw=1.5, zorder=1)
            for entry, (mark, colour, _) in MARKS.items():
                look = {"mfc": "none", "ms": 9} if entry == "exact" else {"ms": 5}
                ax.plot(shares[entry], y, mark, color=colour, clip_on=False, **look)
    ax.set(xlim=(-2, 102), ylim=(len(names) - 0.4, -0.6))
    ax.set(xlabel="% of sentences (○) or words (◆ ▲), four clauses")
    ax.set_yticks(range(len(names)), [name.replace(", ", ",\n") for name in names])
    for x, (_, colour, label) in zip((-0.16, 0.23, 0.76), MARKS.values(), strict=True):
        ax.text(x, 1.03, label, color=text_colour(colour), transform=ax.transAxes)
    return fig


def verb_rows_figure(maps: dict[str, Tensor], pair: Pair) -> Figure:
    """Draw the weights of the steps that predict verbs, a panel for each model.

    Orange frames mark the verb that the output renders, grey frames the source of the
    input, the word before it.
    """
    steps = [
        i for i, j in enumerate(pair.alignment) if j is not None and _is_verb(pair, j)
    ]
    columns = [*pair.source, "<eos>"]
    height = 2.0 + len(maps) * (0.42 + 0.3 * len(steps))
    fig, axes = plt.subplots(
        len(maps), squeeze=False, sharex=True, figsize=(5.5, height)
    )
    for ax, (title, weights) in zip(axes[:, 0], maps.items(), strict=True):
        cells = weights[steps][:, : len(columns)]  # (verbs, S)
        heat_map(
            ax,
            cells,
            rows=[pair.target[i] for i in steps],
            columns=columns,
            roles=("target", "source"),
            **PALE_LINES,
        )
        inputs = [(row, pair.alignment[i - 1]) for row, i in enumerate(steps)]
        outputs = [(row, pair.alignment[i]) for row, i in enumerate(steps)]
        frame_cells(ax, inputs, DARK_GREY)
        frame_cells(ax, outputs, COLOURS["target"])
        ax.set_title(title)
        ax.label_outer()
    axes[-1, 0].set_xlabel("source token", color=text_colour(COLOURS["source"]))
    fig.supylabel("target token", color=text_colour(COLOURS["target"]), size="medium")
    colour_bar(axes[:, 0], "attention weight")
    return fig


def _is_verb(pair: Pair, j: int) -> bool:
    return pair.source[j] in VERBS


# A window of one position

FROZEN = {
    "untrained": "untrained",
    "bahdanau": "from Bahdanau's model",
    "window of one": "from the model with D = 0",
}


def frozen_table(clauses: Sequence[int] = (1, 2, 4)) -> Table:
    """Show what a new decoder with D = 0 learns on a frozen encoder, over seeds."""
    heads = [Column(f"{n} clause{'s' * (n > 1)}", "%", "exact match") for n in clauses]
    rows = []
    for encoder, label in FROZEN.items():
        runs = stored_runs("frozen_encoders", encoder=encoder)
        cells = (spread(100 * run["exact"][str(n)] for run in runs) for n in clauses)
        rows.append((label, *cells))
    return table(["frozen encoder", *heads], rows)


# The dictionaries of the caption translator's heads


def dictionary_table() -> Table:
    """How many links each head finds, by the word that is written and that is read."""
    found = results.load("caption_dictionaries")
    ways = {"output": "by the word written", "input": "by the word read"}
    heads = [
        Column(f"head {n}", "%", group) for group in ways.values() for n in range(1, 5)
    ]
    shares = [
        [[100 * count / found["links"] for count in layer] for layer in found[way]]
        for way in ways
    ]
    rows = [
        (f"layer {number}", *written, *read)
        for number, (written, read) in enumerate(zip(*shares, strict=True), 1)
    ]
    return table(["weights of", *heads], rows)
