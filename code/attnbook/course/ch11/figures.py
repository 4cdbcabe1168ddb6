"""Figures of chapter 11."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.analysis.complexity import (
    attention_work,
    convolution_work,
    recurrent_work,
    windowed_work,
)
from attnbook.core import results
from attnbook.course.ch11.first_symbol import (
    contiguous_dilations,
    exponential_dilations,
)
from attnbook.course.kit.colours import DARK_GREY, INK, PALE_GREY, SHADE
from attnbook.course.kit.curves import band, label_lines, logarithmic
from attnbook.course.kit.heat_maps import WHITE_LINES, colour_bar, heat_map
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.names import name_of
from attnbook.course.kit.tables import stored_runs

KINDS = {
    "self-attention": INK,
    "restricted": DARK_GREY,
    "GRU": "#9A4FB5",
    "convolution": "#1F83B4",
}
"""Kinds of layer, and the colours of their lines."""

TRANSLATORS = {
    "bahdanau": "GRUs and attention (chapter 2)",
    "transformer": "attention without recurrence (chapter 9)",
}
"""Results of the toy language's translators, and what they are."""

# The race


def ledger_table() -> Table:
    """Show how many sentences of four clauses two translators get right."""
    heads = ["model", Column("parameters"), Column("four clauses", "% exact", digits=1)]
    rows = []
    for name, words in TRANSLATORS.items():
        found = results.load(name)
        exact = [100 * run["exact"]["4"] for run in found["runs"]]
        rows.append((words, found["parameters"], spread(exact)))
    return table(heads, rows)


def induction_figure() -> Figure:
    """Draw accuracy on induction by update, and where self-attention is after 400."""
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    found = results.load("induction_updates")
    updates = range(found["every"], found["steps"] + 1, found["every"])
    for kind, d in (("GRU", 256), ("GRU", 64), ("convolution", 64)):
        runs = stored_runs("induction_updates", kind=kind, d=d)
        percent = [[100 * x for x in run["accuracy"]] for run in runs]
        look = {"label": f"{kind}, d = {d}", "ls": "-" if d == 64 else "--"}
        band(ax, updates, percent, KINDS[kind], **look)
    first = stored_runs("induction", kind="self-attention")
    steps = results.load("induction")["steps"]
    ax.plot(steps, 100 * fmean(run["accuracy"] for run in first), "o", color=INK)
    ax.annotate(
        f"self-attention, {steps} updates",
        (steps, 100),
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
    )
    ax.set(xlim=(0, found["steps"]), ylim=(0, 108))
    ax.set(xlabel="update", ylabel="accuracy, %")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    label_lines(ax)
    return fig


# Paths from the first position to the last

POSITIONS = 9
Point = tuple[int, int]  # position, level


def _recurrent_edges() -> tuple[list, list[Point]]:
    chain = [((t, 1), (t + 1, 1)) for t in range(POSITIONS - 1)]
    up = [((t, 0), (t, 1)) for t in range(POSITIONS)]
    return up + chain, [(0, 0), *((t, 1) for t in range(POSITIONS))]


def _attention_edges() -> tuple[list, list[Point]]:
    edges = [((s, 0), (t, 1)) for s in range(POSITIONS) for t in range(POSITIONS)]
    return edges, [(0, 0), (POSITIONS - 1, 1)]


def _convolution_edges(dilations: Sequence[int]) -> tuple[list, list[Point]]:
    edges, path, at = [], [(0, 0)], 0
    for level, step in enumerate(dilations):
        edges += [
            ((t - back * step, level), (t, level + 1))
            for t in range(POSITIONS)
            for back in range(3)
            if t >= back * step
        ]
        at += 2 * step
        path.append((at, level + 1))
    return edges, path


PATHS: dict[str, tuple[list, list[Point]]] = {
    "recurrent": _recurrent_edges(),
    "convolutions, k = 3": _convolution_edges((1, 1, 1, 1)),
    "dilated convolutions, k = 3": _convolution_edges((1, 3)),
    "self-attention": _attention_edges(),
}


def paths_figure() -> Figure:
    """Draw a shortest path from the first of nine positions to the last, four kinds."""
    heights = [1 + 0.55 * max(level for _, level in path) for _, path in PATHS.values()]
    fig, axes = plt.subplots(
        len(PATHS), figsize=(5.5, 6.6), gridspec_kw={"height_ratios": heights}
    )
    for ax, (name, (edges, path)) in zip(axes, PATHS.items(), strict=True):
        for (s, low), (t, high) in edges:
            ax.plot([s, t], [low, high], color=SHADE, linewidth=1.2, zorder=1)
        ax.plot(*zip(*path, strict=True), color=INK, linewidth=2.5, zorder=2)
        top = path[-1][1]
        for level in range(top + 1):
            ax.plot(
                range(POSITIONS),
                [level] * POSITIONS,
                "o",
                color=PALE_GREY,
                markersize=6,
            )
        ax.plot(*zip(*path, strict=True), "o", color=INK, markersize=7, zorder=3)
        steps = len(path) - 1
        ax.set_title(f"{name}: {steps} step{'s' * (steps > 1)}")
        ax.set(ylim=(-0.3, top + 0.3), xlim=(-0.4, POSITIONS - 0.6))
        ax.set_axis_off()
    return fig


# Work and time

WORK: dict[str, Callable[[int, int], int]] = {
    "self-attention": attention_work,
    "restricted": lambda n, d: windowed_work(n, d, 64),
    "GRU": recurrent_work,
    "convolution": lambda n, d: convolution_work(n, d, 3),
}


def runs_of(kind: str, **fixed: int) -> list[dict]:
    """Stored costs of a kind, such as those at ``d=256``, in ascending order."""
    return sorted(
        stored_runs("layer_cost", kind=kind, **fixed),
        key=lambda run: (run["n"], run["d"]),
    )


def work_figure(d: int = 256) -> Figure:
    """Draw multiply-adds by formula, and below stored times, against the length.

    Dots mark the lengths at which self-attention and GRU cost the same.
    """
    fig, (work, clock) = plt.subplots(2, sharex=True, figsize=(5.5, 6.6))
    for kind, formula in WORK.items():
        runs = runs_of(kind, d=d)
        lengths = [run["n"] for run in runs]
        look = {"color": KINDS[kind], "label": kind}
        work.plot(lengths, [formula(n, d) / 1e6 for n in lengths], **look)
        times = [1000 * run["seconds"] for run in runs]
        clock.plot(lengths, times, marker="o", markersize=3, **look)
    without = [attention_work(n, d, projections=False) / 1e6 for n in lengths]
    work.plot(lengths, without, ":", color=INK, label="no projections")
    work.set_ylabel("million multiply-adds")
    clock.set(ylabel="processor time, ms", xlabel="positions n")
    for ax in (work, clock):
        logarithmic(ax, lengths)
    _mark(work, d, attention_work(d, d) / 1e6, f"{d}")
    level, time = most_equal(d)
    _mark(clock, level, 1000 * time, f"about {level:,}")
    for ax in (work, clock):
        label_lines(ax)
    return fig


def most_equal(d: int) -> tuple[int, float]:
    """The length at which the stored times of attention and GRU are most alike."""
    pairs = [
        (run["n"], run["seconds"], other["seconds"])
        for run, other in zip(
            runs_of("self-attention", d=d), runs_of("GRU", d=d), strict=True
        )
    ]
    n, one, other = min(pairs, key=lambda p: max(p[1:]) / min(p[1:]))
    return n, (one + other) / 2


def _mark(ax: Axes, x: float, y: float, text: str) -> None:
    """Put a dot on a crossing, and its length above it."""
    ax.plot(x, y, "o", color=INK, markerfacecolor="white", markersize=9, zorder=5)
    ax.annotate(
        text,
        (x, y),
        xytext=(-6, 10),
        textcoords="offset points",
        ha="right",
        zorder=6,
    )


# Recall of the first symbol


def recall_runs(kind: str, name: str = "first_token") -> dict[int, list[dict]]:
    """Stored runs of a kind, by length."""
    lengths = sorted({run["n"] for run in stored_runs(name, kind=kind)})
    return {n: stored_runs(name, kind=kind, n=n) for n in lengths}


def path_length(kind: str, n: int) -> int:
    """Steps of the shortest path from the first of n positions to the last.

    A layer that only the residual connection passes is no step.
    """
    if kind == "GRU":
        return n
    if kind == "self-attention":
        return 1
    if kind == "contiguous":
        return len(contiguous_dilations(n))
    to_go, steps = n - 1, 0
    for dilation in reversed(exponential_dilations(n)):
        taken = to_go // dilation  # 0, 1 or 2: what the kernel can see
        to_go, steps = to_go - taken * dilation, steps + (taken > 0)
    return steps


def recall_figure() -> Figure:
    """Draw the mean accuracy of each kind at each length, with its path length."""
    kinds = ("self-attention", "dilated", "GRU", "contiguous")
    lengths = [*recall_runs("GRU")]
    cells, notes = [], []
    for kind in kinds:
        runs = recall_runs(kind)
        cells.append([100 * fmean(run["right"] for run in runs[n]) for n in lengths])
        steps = [path_length(kind, n) for n in lengths]
        words = [f"{count} step{'s' * (count > 1)}" for count in steps]
        notes.append(
            [f"{x:.0f} %\n{word}" for x, word in zip(cells[-1], words, strict=True)]
        )
    fig, ax = plt.subplots(figsize=(5.5, 4.6))
    heat_map(
        ax,
        torch.tensor(cells),
        rows=kinds,
        columns=[str(n) for n in lengths],
        titles=("", "positions n"),
        turn=0,
        notes=notes,
        vmax=100,
        annot_kws={"size": 12.5},
        **WHITE_LINES,
    )
    colour_bar(ax, "accuracy, %")
    return fig


# Whole models on a GPU


def gpu_speeds_table() -> Table:
    """Show how fast the five models of chapter 12 trained on a GPU: ``gpu_runs``."""
    named = {"static_context": "static_last", "luong": "luong_general"}
    runs = results.load("gpu_runs")["trained"]["ladder"]["runs"]
    rows = [
        (name_of(named.get(name, name)), run["tokens_per_second"])
        for name, run in runs.items()
    ]
    return table(["model", Column("training", "tokens/s")], rows)
