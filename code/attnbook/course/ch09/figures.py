"""Figures and tables of chapter 9."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.kit.alignment_maps import alignment_map
from attnbook.course.kit.colours import COLOURS, GREY, PALE_GREY
from attnbook.course.kit.curves import averaged, label_lines
from attnbook.course.kit.heat_maps import colour_bar
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.language import Pair

# Training


def loss_figure(
    losses: Sequence[float], others: dict[str, str], width: int = 20
) -> Figure:
    """Draw the loss of a run, and of stored runs with the same seed."""
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    greys = (GREY, PALE_GREY)[: len(others)]
    for (name, label), colour in zip(others.items(), greys, strict=True):
        stored = results.load(name)["runs"][0]["loss"]
        middles = [20 * (i + 0.5) for i in range(len(stored))]
        ax.plot(middles, stored, label=label, color=colour)
    line = averaged(losses, width)
    ax.plot(*line, label="this run", color=COLOURS["target"], lw=2.5)
    ax.set(xlabel="step", ylabel="loss, nats per token", yscale="log", xlim=(0, None))
    label_lines(ax)
    return fig


# Where each head looks


def heads_figure(weights: Tensor, pair: Pair) -> Figure:
    """Draw the cross-attention of each head of a layer; the aligned words framed."""
    fig, axes = plt.subplots(len(weights) // 2, 2, figsize=(7.2, 8.4))
    for head, (ax, w) in enumerate(zip(axes.flat, weights, strict=True), start=1):
        alignment_map(ax, w, pair)
        ax.set_title(f"head {head}", loc="center")
    for ax in axes[:, 1]:
        ax.set(yticklabels=[], ylabel="")
    for ax in axes[:-1].flat:
        ax.set(xticklabels=[], xlabel="")
    colour_bar(axes.flat, "attention weight")
    return fig


# What wrong builds learn

BUGS = {
    "none": "all mended",
    "scale": "softmax and heads mended",
    "softmax": "all but the softmax",
    "heads": "all but the heads",
    "heads and scale": "softmax mended",
    "all three": "as published",
}
"""Bugs in a model, and the name of the build in the stored result."""


def builds_table() -> Table:
    """Show what each of the ``broken_builds`` learned: mean and range of seeds."""
    rows = []
    for bugs, name in BUGS.items():
        runs = stored_runs("broken_builds", build=name)
        right = spread(100 * run["right"] for run in runs)
        rows.append((bugs, fmean(run["loss"] for run in runs), right))
    loss = Column("loss", "nats per token", digits=3)
    return table(["bugs", loss, Column("token accuracy", "%", digits=1)], rows)
