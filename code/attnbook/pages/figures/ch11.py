"""Figures and tables of chapter 11."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.analysis.complexity import (
    attention_work,
    convolution_work,
    recurrent_work,
    windowed_work,
)
from attnbook.core import results
from attnbook.pages.colours import DARK_GREY, INK, PALE_GREY, SHADE
from attnbook.pages.curves import label_lines, logarithmic
from attnbook.pages.heat_maps import WHITE_LINES, heat_map
from attnbook.pages.html_tables import Column, Table, spread, table
from attnbook.pages.tables import stored_runs
from attnbook.toy.last_position import (
    LAYER_STACKS,
    contiguous_dilations,
    exponential_dilations,
)
from attnbook.toy.tasks import N_SYMBOLS

KINDS = {
    "self-attention": INK,
    "restricted": DARK_GREY,
    "GRU": "#9A4FB5",
    "convolution": "#1F83B4",
    "dilated": "#1F83B4",
}
"""Kinds of layer, and the colours of their lines; a dilated one is a convolution."""

# Paths from the first place to the last

PLACES = 9
Point = tuple[int, int]  # place, level


def _recurrent_edges() -> tuple[list, list[Point]]:
    chain = [((t, 1), (t + 1, 1)) for t in range(PLACES - 1)]
    up = [((t, 0), (t, 1)) for t in range(PLACES)]
    return up + chain, [(0, 0), *((t, 1) for t in range(PLACES))]


def _attention_edges() -> tuple[list, list[Point]]:
    edges = [((s, 0), (t, 1)) for s in range(PLACES) for t in range(PLACES)]
    return edges, [(0, 0), (PLACES - 1, 1)]


def _convolution_edges(dilations: Sequence[int]) -> tuple[list, list[Point]]:
    edges, path, at = [], [(0, 0)], 0
    for level, step in enumerate(dilations):
        edges += [
            ((t - back * step, level), (t, level + 1))
            for t in range(PLACES)
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
    """Draw the way of the first of nine places to the last, through four kinds."""
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
            ax.plot(range(PLACES), [level] * PLACES, "o", color=PALE_GREY, markersize=6)
        ax.plot(*zip(*path, strict=True), "o", color=INK, markersize=7, zorder=3)
        steps = len(path) - 1
        ax.set_title(f"{name}: {steps} step{'s' * (steps > 1)}")
        ax.set(ylim=(-0.3, top + 0.3), xlim=(-0.4, PLACES - 0.6))
        ax.set_axis_off()
    return fig


# Work and time

UNITS = {"ms": 1e-3, "MB": 1e6}

ROWS: dict[str, Callable[[int, int], int]] = {
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


def slope(runs: Sequence[dict], by: str, of: str) -> float:
    """How steep a cost rises at the end of a log–log plot: 2 is with the square."""
    (x, y), (x2, y2) = ((run[by], run[of]) for run in runs[-2:])
    return math.log(y2 / y) / math.log(x2 / x)


def costs_table(of: str, unit: str) -> Table:
    """Show a stored cost of all kinds of layer by length, with its last slope.

    Args:
        of: "seconds" or "bytes".
        unit: "ms" or "MB".
    """
    d = results.load("layer_cost")["width"]
    heads = [Column(f"n = {r['n']:,}", unit, digits=1) for r in runs_of("GRU", d=d)]
    rows = []
    for kind in KINDS:
        runs = runs_of(kind, d=d)
        cells = (run[of] / UNITS[unit] for run in runs)
        rows.append((kind, *cells, slope(runs, "n", of)))
    return table(["layer", *heads, Column("slope", digits=1)], rows)


def batches_table() -> Table:
    """Show the stored time of one sequence, by how many are computed together."""
    sizes = sorted({run["batch"] for run in stored_runs("layer_batches")})
    group = "sequences computed together"
    heads = [Column(f"{size}", "ms for each", group, 1) for size in sizes]
    rows = []
    for kind in ("self-attention", "GRU"):
        runs = {
            r["batch"]: r["seconds"] for r in stored_runs("layer_batches", kind=kind)
        }
        rows.append((kind, *(1000 * runs[size] / size for size in sizes)))
    return table(["layer", *heads], rows)


def work_figure(d: int = 256) -> Figure:
    """Draw multiply-adds by formula, and below stored times, against the length."""
    fig, (work, clock) = plt.subplots(2, sharex=True, figsize=(5.5, 6.6))
    for kind, formula in ROWS.items():
        runs = runs_of(kind, d=d)
        lengths = [run["n"] for run in runs]
        look = {"color": KINDS[kind], "label": kind}
        work.plot(lengths, [formula(n, d) / 1e6 for n in lengths], **look)
        times = [1000 * run["seconds"] for run in runs]
        clock.plot(lengths, times, marker="o", markersize=4, **look)
    without = [attention_work(n, d, projections=False) / 1e6 for n in lengths]
    work.plot(lengths, without, ":", color=INK, label="no projections")
    work.set_ylabel("million multiply-adds")
    clock.set(ylabel="processor time, ms", xlabel="places n")
    for ax in (work, clock):
        logarithmic(ax, lengths)
        label_lines(ax)
    return fig


# Reach


def reach_figure(seen: dict[str, Tensor]) -> Figure:
    """Draw which places move the last one's output, layer by layer.

    Args:
        seen: For each kind (L, n), bool: row i is after i + 1 layers.
    """
    heights = [1 + len(rows) for rows in seen.values()]
    fig, axes = plt.subplots(
        len(seen),
        sharex=True,
        figsize=(5.5, 6.2),
        gridspec_kw={"height_ratios": heights},
    )
    for ax, (kind, rows) in zip(axes, seen.items(), strict=True):
        layers, n = rows.shape
        names = [f"{place}" if place % 8 == 0 else "" for place in range(n)]
        heat_map(
            ax,
            rows.flip(0),
            columns=names,
            turn=0,
            cmap="Greys",
            vmax=1.3,
            **WHITE_LINES,
        )
        ax.set_yticks([i + 0.5 for i in range(layers)], range(layers, 0, -1))
        ax.set(title=kind, ylabel="layers")
        ax.spines[["left", "bottom"]].set_visible(True)
    axes[-1].set_xlabel("place of the input")
    return fig


# The first symbol at the last place


def recall_runs(kind: str, name: str = "first_token") -> dict[int, list[dict]]:
    """Stored runs of a kind, by length."""
    lengths = sorted({run["n"] for run in stored_runs(name, kind=kind)})
    return {n: stored_runs(name, kind=kind, n=n) for n in lengths}


def recall_table() -> Table:
    """Show right answers of all kinds by length, each seed, after each training."""
    groups = {}
    lengths = [*recall_runs("GRU")]
    for name, stacks in (
        ("first_token", "just enough layers"),
        ("first_token_longer", "just enough layers"),
        ("first_token_room", "half as many layers again"),
    ):
        rows = []
        for kind in LAYER_STACKS:
            found = recall_runs(kind, name)
            if found:
                runs = (found.get(n, []) for n in lengths)
                rows.append((kind, *map(_seed_by_seed, runs)))
        groups[f"{results.load(name)['steps']:,} updates, {stacks}"] = rows
    heads = [Column(f"n = {n}", "%", "correct, for each seed") for n in lengths]
    return table(["layer", *heads], groups)


def _seed_by_seed(runs: Sequence[dict]) -> str:
    return " · ".join(f"{100 * run['right']:.0f}" for run in runs)


def hops_table() -> Table:
    """Show the steps of the shortest path from the first position to the last."""
    heads = [Column(f"n = {n}", "steps") for n in recall_runs("GRU")]
    rows = [
        (kind, *(hops(runs[0]) for runs in recall_runs(kind).values()))
        for kind in LAYER_STACKS
    ]
    return table(["layer", *heads], rows)


def hops(run: dict) -> int:
    """Steps of the shortest way from the first place to the last, in a stored run.

    A layer that is passed on its residual is no step.
    """
    if run["kind"] == "GRU":
        return run["n"]
    if run["kind"] == "self-attention":
        return 1
    if run["kind"] == "contiguous":
        return len(contiguous_dilations(run["n"]))
    to_go, steps = run["n"] - 1, 0
    for dilation in reversed(exponential_dilations(run["n"])):
        taken = to_go // dilation  # 0, 1 or 2: what the kernel can see
        to_go, steps = to_go - taken * dilation, steps + (taken > 0)
    return steps


def recall_figure() -> Figure:
    """Draw right answers against the length of the way, one dot a seed."""
    fig, axes = plt.subplots(
        len(LAYER_STACKS), sharex=True, sharey=True, figsize=(5.5, 5.6)
    )
    for ax, kind in zip(axes, LAYER_STACKS, strict=True):
        ax.axhline(100 / N_SYMBOLS, color=PALE_GREY, linestyle=":", linewidth=1.2)
        for name, face, size in (
            ("first_token_longer", "white", 11),
            ("first_token", INK, 6),
        ):
            runs = stored_runs(name, kind=kind)
            dots = [*map(hops, runs)], [100 * run["right"] for run in runs]
            look = {"color": INK, "markerfacecolor": face, "markersize": size}
            ax.plot(*dots, "o", **look)
        ax.set(title=kind, ylim=(-6, 112), yticks=(0, 50, 100), xscale="log")
        ax.minorticks_off()
    steps = [2**i for i in range(7)]
    axes[-1].set_xticks(steps, [str(step) for step in steps])
    axes[-1].set(xlabel="steps on the way", xlim=(0.85, 80))
    fig.supylabel("right answers, %", size="medium")
    return fig


# What weights tell


def weights_tell_table() -> Table:
    """Show how far weights tell effects: means of three seeds, and their range."""
    names = {
        ("bahdanau", "hidden"): "Bahdanau, hidden",
        ("bahdanau", "replaced"): "Bahdanau, replaced",
        ("transformer", "hidden"): "Transformer, hidden",
        ("transformer", "replaced"): "Transformer, replaced",
        ("transformer", "encoder"): "Transformer, encoder, replaced",
    }
    rows = []
    for (model, test), label in names.items():
        runs = stored_runs("weights_tell", model=model)
        every = [100 * run[test]["first"] for run in runs if test in run]
        others = [run[f"{test}_others"] for run in runs]
        first = spread(100 * x["first"] for x in others)
        rank = spread(x["correlation"] for x in others)
        rows.append((label, spread(every) if every else None, first, rank))
    others = "all but the rendered word"
    heads = [
        Column("same first", "%", "all positions"),
        Column("same first", "%", others),
        Column("rank correlation", "", others, 2),
    ]
    return table(["model", *heads], rows)
