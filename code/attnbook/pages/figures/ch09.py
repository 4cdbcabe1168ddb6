"""Figures and tables of chapter 9."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.pages.colours import COLOURS, GREY, PALE_GREY
from attnbook.pages.curves import averaged, label_lines
from attnbook.pages.figures.alignment_maps import alignment_map
from attnbook.pages.html_tables import Column, Table, spread, table
from attnbook.pages.names import name_of
from attnbook.pages.tables import stored_runs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy

# Training


def loss_figure(
    losses: Sequence[float], others: dict[str, str], width: int = 20
) -> Figure:
    """Draw the loss of a run, and of stored runs with the same seed.

    Args:
        losses: Of each step.
        others: Name of a stored result, and its label; two at most.
        width: Steps averaged into one point; the stored ones are averaged over 20.
    """
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    greys = (GREY, PALE_GREY)[: len(others)]
    for (name, label), colour in zip(others.items(), greys, strict=True):
        stored = results.load(name)["runs"][0]["loss"]
        middles = [20 * (i + 0.5) for i in range(len(stored))]
        ax.plot(middles, stored, label=label, color=colour)
    line = averaged(losses, width)
    ax.plot(*line, label="this run", color=COLOURS["target"], lw=2.5)
    ax.set(xlabel="step", ylabel="loss, nats a word", yscale="log", xlim=(0, None))
    label_lines(ax)
    return fig


def alignment_table(*names: str) -> Table:
    """Show alignment accuracys of stored results: mean and range over seeds."""
    group = "largest weight on the right word"
    heads = [Column(head, "%", group, 1) for head in ("1 clause", "4 clauses")]
    rows = [
        (
            name_of(name),
            *(spread(100 * r["align"][n] for r in stored_runs(name)) for n in "14"),
        )
        for name in names
    ]
    return table(["model", *heads], rows)


def five_clauses_table(*names: str) -> Table:
    """Show the exact match of stored results at five clauses: mean and range."""
    rows = [
        (name_of(name), spread(100 * run["exact"]["5"] for run in stored_runs(name)))
        for name in names
    ]
    return table(["model", Column("exact match", "%", digits=1)], rows)


# Where it looks


def heads_figure(maps: dict[str, Tensor], pair: Pair) -> Figure:
    """Draw the cross-attention of every head of every layer; the right places framed.

    Args:
        maps: For each layer's name the weights of one sentence, (H, T, S).
        pair: The sentence.
    """
    rows, columns = len(maps), max(map(len, maps.values()))
    fig, axes = plt.subplots(rows, columns, squeeze=False, figsize=(5.5, 1.75 * rows))
    for layer, (line, weights) in enumerate(zip(axes, maps.values(), strict=True)):
        for head, (ax, w) in enumerate(zip(line, weights, strict=True)):
            alignment_map(ax, w, pair, named=False)
            if layer == 0:
                ax.set_title(f"head {head}", loc="center")
        line[0].set_ylabel(f"layer {layer}")
    return fig


def heads_table(maps: dict[str, Tensor], pairs: Sequence[Pair]) -> Table:
    """Show the alignment accuracy of every head.

    Args:
        maps: For each layer's name the weights of all pairs, (B, H, T, S).
        pairs: The B pairs.
    """
    rows = [
        (
            str(layer),
            *(100 * alignment_accuracy(w, pairs) for w in weights.unbind(dim=1)),
        )
        for layer, weights in enumerate(maps.values())
    ]
    group = "largest weight on the right word"
    heads = [Column(f"head {head}", "%", group) for head in range(len(rows[0]) - 1)]
    return table(["layer", *heads], rows)


# What wrong builds learn


def builds_table() -> Table:
    """Show what each of the ``broken_builds`` learned: mean and range of seeds."""
    rows = []
    for name in dict.fromkeys(run["build"] for run in stored_runs("broken_builds")):
        runs = stored_runs("broken_builds", build=name)
        right = spread(100 * run["right"] for run in runs)
        rows.append((name, fmean(run["loss"] for run in runs), right))
    loss = Column("loss", "nats per token", digits=3)
    return table(["build", loss, Column("token accuracy", "%", digits=1)], rows)
