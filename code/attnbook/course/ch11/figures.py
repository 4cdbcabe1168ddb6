"""Figures of chapter 11."""

from collections.abc import Sequence
from itertools import pairwise, product
from statistics import fmean, median

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

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

# The race


def ledger_table() -> Table:
    """Show how many sentences of four clauses two translators get right."""
    heads = ["model", Column("parameters"), Column("four clauses", "% exact", digits=1)]
    rows, gru = [], "GRUs and attention (chapter 2)"
    for name, words in (("bahdanau", gru), ("transformer", "Transformer (chapter 9)")):
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


BELOW, ABOVE = ([(t, level) for t in range(POSITIONS)] for level in (0, 1))
PATHS: dict[str, tuple[list, list[Point]]] = {
    "recurrent": (
        [*zip(BELOW, ABOVE, strict=True), *pairwise(ABOVE)],
        [(0, 0), *ABOVE],
    ),
    "convolutions, k = 3": _convolution_edges((1, 1, 1, 1)),
    "dilated convolutions, k = 3": _convolution_edges((1, 3)),
    "self-attention": ([*product(BELOW, ABOVE)], [(0, 0), (POSITIONS - 1, 1)]),
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


def speed_figure() -> Figure:
    """Draw how fast the toy language's translators train, by length of the texts."""
    fig, ax = plt.subplots(figsize=(5.5, 3.6))
    for name, colour in [*FIVE.values()][1:]:
        runs = stored_runs("speed_by_length", model=name, d=64, tokens=2048)
        speeds = {run["length"]: run["speed"] for run in runs}
        ax.loglog(speeds.keys(), speeds.values(), "o-", color=colour, label=name)
    ax.set_xticks([*speeds], [*map(str, speeds)])
    ax.set_yticks([1e3, 3e3, 1e4, 3e4], ["1,000", "3,000", "10,000", "30,000"])
    ax.minorticks_off()
    ax.set(xlabel="tokens in a text", ylabel="tokens per second")
    label_lines(ax)
    return fig


WIDTHS = dict.fromkeys(FIVE, 256) | {"transformer": 128}
"""Widths at which the models race: the RNNs have more parameters."""
Curve = dict[str, list[float]]
"""After each validation the "loss" and million "tokens"."""


def core_curves() -> dict[str, Curve]:
    """Training on one core, with the "speed" of each model in tokens a second."""
    tokens = results.load("five_by_epoch")["tokens"]
    speeds = {
        run["model"]: run["tokens_per_second"]
        for run in results.load("five_speeds")["runs"]
        if run["d_model"] == WIDTHS[run["model"]]
    }
    losses = {
        name: [line["validation_loss"] for line in run["log"]]
        for name, run in results.load("multi30k_runs")["parts"]["ladder"][
            "runs"
        ].items()
    }  # the Transformer of these runs was trained in bfloat16
    (run,) = stored_runs("five_by_epoch", model="transformer", rate=3e-3)
    alone = results.load("luong_in_one_call")
    losses |= {"transformer": run["loss"], "in one call": alone["loss"]}
    speeds["in one call"] = [  # timed in turns with the Transformer
        found["luong"] / found["transformer"] * median(speeds["transformer"])
        for found in alone["tokens_per_second"]
    ]
    curves = {}
    for name, per_epoch in losses.items():
        seen = [(n + 1) * tokens / 1e6 for n in range(len(per_epoch))]
        speed = median(speeds[name])
        curves[name] = {"speed": speed, "loss": per_epoch, "tokens": seen}
    return curves


def gpu_figure() -> Figure:
    """Draw loss and BLEU by minutes on a GPU."""
    runs = results.load("gpu_runs")["trained"]["ladder"]["runs"]
    fig, (loss, bleu) = plt.subplots(2, sharex=True, figsize=(5.5, 6.2))
    for name, (label, colour) in FIVE.items():
        log = runs[name]["log"]
        minutes = [line["seconds"] / 60 for line in log]
        for ax, entry in ((loss, "validation_loss"), (bleu, "validation_bleu")):
            seen = [line[entry] for line in log]
            ax.plot(minutes, seen, color=colour, label=label)
    loss.legend(frameon=False, reverse=True)
    loss.set(ylabel="validation loss, nats", ylim=(None, 5))
    bleu.set(ylabel="validation BLEU", xlim=(0, None), ylim=(0, None))
    bleu.set(xlabel="minutes on a GPU")
    return fig


def needed(curve: Curve, goal: float) -> float:
    """Million tokens until the validation loss has fallen to a goal."""
    points = zip(curve["tokens"], curve["loss"], strict=True)
    for (before, high), (after, low) in pairwise(points):
        if low <= goal < high:  # in between: in proportion
            return before + (after - before) * (high - goal) / (high - low)
    raise ValueError(f"no validation loss is {goal} or less")


CORE = {
    "bahdanau": "Bahdanau, 256",
    "luong": "Luong, 256",
    "in one call": "Luong, 256, without input feeding",
    "transformer": "Transformer, 128",
}
"""The models with attention, as they race on one core."""


def core_table() -> Table:
    """Show what a loss of 2.3 takes the models with attention on one core."""
    curves = core_curves()
    rows = []
    for name, label in CORE.items():
        speed, tokens = curves[name]["speed"], needed(curves[name], 2.3)
        rows.append((label, speed, tokens, 1e6 * tokens / speed / 60))
    loss = "loss 2.3"
    heads = [Column("speed", "tokens/s"), Column("tokens", "million", loss, 1)]
    return table(["model, width", *heads, Column("time", "minutes", loss, 0)], rows)


# Running parity


def parity_table() -> Table:
    """Show the accuracy of all kinds on the running parity."""
    accuracy = Value("accuracy", "%", 100, name="accuracy")
    about = {"names": {"steps": "{:,} updates"}, "head": "layers"}
    return pivot(stored_runs("running_parity"), "kind", "steps", accuracy, **about)
