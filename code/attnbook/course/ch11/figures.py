"""Figures of chapter 11."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, DARK_GREY, INK, PALE_GREY, SHADE, SKY
from attnbook.course.kit.curves import band, label_lines
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

KINDS = {
    "self-attention": INK,
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


# Training time

FIVE = {
    "initial_state": ("initial state only", DARK_GREY),
    "static_context": ("static context", COLOURS["source"]),
    "bahdanau": ("Bahdanau", COLOURS["target"]),
    "luong": ("Luong", SKY),
    "transformer": ("Transformer", "#000000"),
}
"""The five models of chapter 12 and their colours."""

RATE = 3e-3
Curves = dict[tuple[str, int], dict[str, list[float]]]
"""By model and width the "minutes", the "loss" and the "bleu" after each epoch."""


def core_speeds() -> dict[tuple[str, int], float]:
    """Tokens that each model and width trains per second, alone on one core."""
    return {
        (run["model"], run["d_model"]): median(run["tokens_per_second"])
        for run in results.load("five_speeds")["runs"]
    }


def core_curves() -> Curves:
    """Training on one core: the models of width 128, and RNNs of width 256."""
    stored, speeds = results.load("five_by_epoch"), core_speeds()
    curves = {
        (run["model"], run["d_model"]): {key: run[key] for key in ("loss", "bleu")}
        for run in stored_runs("five_by_epoch", rate=RATE)
    }
    for name, run in results.load("multi30k_runs")["parts"]["ladder"]["runs"].items():
        if name != "transformer":  # it ran in bfloat16
            curves[name, run["config"]["d_model"]] = _validated(run)
    for key, curve in curves.items():
        epoch = stored["tokens"] / speeds[key] / 60
        curve["minutes"] = [epoch * (n + 1) for n, _ in enumerate(curve["loss"])]
    return curves


def gpu_curves() -> Curves:
    """Training of the same models on a GPU, side by side."""
    return {
        (name, run["config"]["d_model"]): _validated(run)
        | {"minutes": [line["seconds"] / 60 for line in run["log"]]}
        for name, run in results.load("gpu_runs")["trained"]["ladder"]["runs"].items()
    }


def _validated(run: dict) -> dict[str, list[float]]:
    """The validation loss and BLEU in a run's log."""
    return {
        key: [line[f"validation_{key}"] for line in run["log"]]
        for key in ("loss", "bleu")
    }


def core_figure() -> Figure:
    """Draw loss and BLEU by minutes on one core; broken: width 256."""
    return _minutes_figure(core_curves(), "minutes on one core", broken=256)


def gpu_figure() -> Figure:
    """Draw the same by minutes on a GPU."""
    return _minutes_figure(gpu_curves(), "minutes on a GPU")


def _minutes_figure(curves: Curves, axis: str, broken: int | None = None) -> Figure:
    fig, (loss, bleu) = plt.subplots(2, sharex=True, figsize=(5.5, 6.2))
    for (name, width), curve in sorted(curves.items()):
        style = "--" if width == broken else "-"
        for ax, key in ((loss, "loss"), (bleu, "bleu")):
            ax.plot(curve["minutes"], curve[key], style, color=FIVE[name][1])
    lines = [Line2D([], [], color=colour) for _, colour in FIVE.values()]
    labels = [label for label, _ in FIVE.values()]
    loss.legend(lines, labels, frameon=False, reverse=True)
    loss.set(ylabel="validation loss, nats", ylim=(None, 5))
    bleu.set(ylabel="validation BLEU", xlabel=axis, xlim=(0, None), ylim=(0, None))
    return fig


def minutes_to(curve: dict[str, list[float]], loss: float) -> float | None:
    """Minutes until the validation loss has fallen so far, between two epochs."""
    points = [*zip(curve["minutes"], curve["loss"], strict=True)]
    for (before, high), (after, low) in pairwise(points):
        if low <= loss < high:
            return before + (after - before) * (high - loss) / (high - low)
    return None


GOALS = (2.3, 1.9)
"""Validation losses that are reached after a few epochs, and late."""


def minutes_table() -> Table:
    """Show size, speed and minutes to a loss of each model, on a core and on a GPU."""
    core, gpu, speeds = core_curves(), gpu_curves(), core_speeds()
    on_gpu = results.load("gpu_runs")["trained"]["ladder"]["runs"]
    sizes = {
        (run["model"], run["d_model"]): run["parameters"] / 1e6
        for run in results.load("five_speeds")["runs"]
    }
    rows = []
    for name, (label, _) in FIVE.items():
        for width in sorted(width for model, width in sizes if model == name):
            key, cells = (name, width), [None] * 3
            if key in gpu:
                goals = (minutes_to(gpu[key], goal) for goal in GOALS)
                cells = [on_gpu[name]["tokens_per_second"], *goals]
            first = (
                speeds[key],
                minutes_to(core[key], GOALS[0]) if key in core else None,
            )
            rows.append((f"{label}, {width}", sizes[key], *first, *cells))
    heads = [
        Column("parameters", "million", digits=1),
        Column("speed", "tokens/s", "one core"),
        Column(f"loss {GOALS[0]}", "minutes", "one core", 0),
        Column("speed", "tokens/s", "GPU"),
        *(Column(f"loss {goal}", "minutes", "GPU", 1) for goal in GOALS),
    ]
    return table(["model, width", *heads], rows)


# A task that attention loses


def parity_table() -> Table:
    """Show the accuracy of all kinds on the running parity."""
    accuracy = Value("accuracy", "%", 100, name="accuracy")
    about = {"names": {"steps": "{:,} updates"}, "head": "layers"}
    return pivot(stored_runs("running_parity"), "kind", "steps", accuracy, **about)
