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
from attnbook.course.kit.heat_maps import (
    PALE_LINES,
    colour_bar,
    frame_cells,
    heat_map,
)
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.language import Pair

BUGS = {
    "none": "all mended",
    "scale": "softmax and heads mended",
    "softmax": "all but the softmax",
    "heads": "all but the heads",
    "heads and scale": "softmax mended",
    "all three": "as published",
}
"""Bugs in a model, and the name of the build in the stored result."""

# The suspect


def suspect_table() -> Table:
    """Show what the suspect gets right after each kind of training: stored."""
    found = results.load("suspect_tests")
    short, long = found["steps"], found["longer"]
    builds = stored_runs("broken_builds", build=BUGS["heads and scale"])
    rows = [
        ("copies", "new copies", short, "copying", found["runs"]),
        ("eight reversals", "the same eight", short, "one_batch", found["runs"]),
        ("eight reversals", "new reversals", short, "one_batch_new", found["runs"]),
        ("reversals", "new reversals", short, "right", builds),
        ("reversals", "new reversals", long, "longer", found["runs"]),
    ]
    table_rows = [
        (*texts, steps, spread(100 * run[test] for run in runs))
        for *texts, steps, test, runs in rows
    ]
    heads = ["trained on", "tested on", Column("batches")]
    right = Column("symbols right", "%", digits=1)
    return table([*heads, right], table_rows)


def dependence_figure(moved: Tensor) -> Figure:
    """Draw which outputs depend on which inputs, (T, T); those of a reversal framed."""
    length = len(moved)
    positions = [f"{i}" for i in range(1, length + 1)]
    fig, ax = plt.subplots(figsize=(4.4, 4.4))
    heat_map(
        ax,
        (moved > 0).float(),
        rows=positions,
        columns=positions,
        roles=("target", "source"),
        titles=("target position", "source position"),
        turn=0,
        vmax=1.5,
        square=True,
        **PALE_LINES,
    )
    needed = ((i, length - 1 - i) for i in range(length))
    frame_cells(ax, needed, COLOURS["target"])
    return fig


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


def builds_table() -> Table:
    """Show what each of the broken builds learned: mean and range of seeds."""
    four = {
        bugs: stored_runs("broken_builds", build=build) for bugs, build in BUGS.items()
    }
    four["softmax, 900 batches"] = stored_runs("broken_builds_longer", bug="softmax")
    sixteen = {
        "none": stored_runs("sixteen_heads", bugs=[]),
        "scale": stored_runs("sixteen_heads", bugs=["scale"]),
        "scale, 900 batches": stored_runs("broken_builds_longer", bug="scale"),
    }
    rows = {
        heading: [
            (
                bugs,
                fmean(run["loss"] for run in runs),
                spread(100 * run["right"] for run in runs),
            )
            for bugs, runs in builds.items()
        ]
        for heading, builds in {"4 heads": four, "16 heads": sixteen}.items()
    }
    loss = Column("loss", "nats per token", digits=3)
    return table(["bugs", loss, Column("token accuracy", "%", digits=1)], rows)
