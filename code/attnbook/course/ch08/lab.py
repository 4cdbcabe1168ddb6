"""Tables and figures of laboratory page 8."""

import math
from collections.abc import Sequence
from itertools import product
from statistics import fmean

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnbook.core import results
from attnbook.course.kit.colours import DARK_GREY
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

# Which features a norm averages

LENGTHS = (6, 4, 5)  # tokens of three sentences; the rest of six positions is padding
FEATURES = 4


def norms_figure() -> Figure:
    """Draw, for both norms, which features of a batch share one mean."""
    fig, axes = plt.subplots(2, figsize=(5.5, 4.1))
    n = len(LENGTHS) * max(LENGTHS)
    ways = {
        "LayerNorm: one mean for each position": (sns.husl_palette(n, l=0.78), True),
        "BatchNorm: one mean for each feature": (sns.husl_palette(4, l=0.78), False),
    }
    for ax, (title, (palette, of_position)) in zip(axes, ways.items(), strict=True):
        for sentence, length in enumerate(LENGTHS):
            left = 7 * sentence
            ax.text(left, -0.2, f"sentence {sentence + 1}", va="bottom")
            for position, feature in product(range(max(LENGTHS)), range(FEATURES)):
                group = 5 * (6 * sentence + position) % 18 if of_position else feature
                look = {"facecolor": palette[group], "edgecolor": DARK_GREY}
                padding = "" if position < length else "////"
                place = left + position, feature
                cell = Rectangle(place, 1, 1, hatch=padding, linewidth=0.8, **look)
                ax.add_patch(cell)
        ax.set(
            title=title, xlim=(-0.1, 7 * len(LENGTHS) - 0.9), ylim=(FEATURES + 0.1, -1)
        )
        ax.set(aspect="equal", xticks=[], yticks=[], ylabel="features")
        sns.despine(ax=ax, left=True, bottom=True)
    axes[1].set_xlabel("positions")
    return fig


# Feed-forward network


def first_below(losses: Sequence[float], bound: float, steps: int) -> str:
    """The steps after which a mean of the loss first is below a bound."""
    width = steps // len(losses)
    below = [i for i, loss in enumerate(losses) if loss < bound]
    return f"{(below[0] + 1) * width}" if below else f">\N{NO-BREAK SPACE}{steps}"


def feed_forward_table(bound: float = 0.1) -> Table:
    """How soon two tasks are learned with and without a network, by seed."""
    names = {
        "with": "encoder layers",
        "without ReLU": "without the ReLU",
        "without": "without the network",
    }
    stored, rows = results.load("feed_forward_needed"), []
    for kind, n_layers in dict.fromkeys(
        (r["layers"], r["n_layers"]) for r in stored["runs"]
    ):
        cells = []
        for task in ("add_previous", "backwards"):
            where = {"task": task, "layers": kind, "n_layers": n_layers}
            runs = stored_runs("feed_forward_needed", **where)
            cells.append(
                ", ".join(first_below(r["loss"], bound, stored["steps"]) for r in runs)
            )
            cells.append(spread(100 * run["right"] for run in runs))
        rows.append((f"{n_layers} {names[kind]}", *cells))
    heads = [
        column
        for task in ("sum of two", "reversal")
        for column in (
            Column("until loss < 0.1", "steps, by seed", task),
            Column("accuracy", "%", task, 1),
        )
    ]
    return table(["layers", *heads], rows)


# Warm-up


def warm_up_table() -> Table:
    """The loss of the last ten steps, by learning rate, norm and warm-up."""
    names = {
        "rate": "learning rate {:g}",
        "norm_first": {False: "post-norm", True: "pre-norm"},
        "warm_up": {0: "no warm-up", 30: "30 steps of warm-up"},
    }
    end = Value(lambda run: fmean(run["loss"][-10:]), "nats per symbol", digits=1)
    about = {"groups": "rate", "names": names, "head": "layers"}
    return pivot(stored_runs("warm_up"), "norm_first", "warm_up", end, **about)


# What lets a deep stack learn?


def ladder_table() -> Table:
    """The loss of the last ten steps, and the diversity before training, by stack."""
    diversity = Value("diversity", "before training", 1, 2, "token diversity")
    loss = Value("loss", "nats", digits=1, name="loss")
    runs = [*stored_runs("ladder"), *stored_runs("ladder_controls")]
    return pivot(runs, "row", None, diversity, loss, head="stack")


WEIGHTS = {
    "the package's": ("weights_and_norm", "{}"),
    "small": ("weights_and_norm", "{}, small weights"),
    "default of `nn.Linear`": ("linear_weights", "{}"),
}
"""Stored result and the form of its rows, by initial weights."""
NORMS = {"no norm": "skip, network", "pre-norm": "pre-norm"}


def rates_table() -> Table:
    """The loss of the last ten steps, by initial weights, norm and learning rate."""
    rates = list(dict.fromkeys(r["rate"] for r in stored_runs("weights_and_norm")))
    groups = {
        weights: [
            (norm, *(losses_at(rate, result, form.format(row)) for rate in rates))
            for norm, row in NORMS.items()
        ]
        for weights, (result, form) in WEIGHTS.items()
    }
    heads = [Column(f"{rate:g}", "nats", "learning rate", 1) for rate in rates]
    return table(["norm", *heads], groups)


def losses_at(rate: float, name: str, row: str) -> Spread | str:
    """Mean and range of the seeds, or each seed's loss if one is above guessing."""
    runs = stored_runs(name, row=row, rate=rate)
    losses = [math.inf if r["loss"] is None else r["loss"] for r in runs]
    if max(losses) < GUESSING:
        return spread(losses)
    return ", ".join(map(rounded, sorted(losses)))


GUESSING = 3.0
"""Losses below this many nats are at most a little above guessing."""
LARGE = 1e6


def rounded(loss: float) -> str:
    """A loss as exactly as a run that explodes can be repeated."""
    if loss < GUESSING:
        return f"{loss:.1f}"
    if loss < LARGE:
        return f"{loss:,.0f}"
    if not math.isfinite(loss):
        return "∞"
    return "10" + f"{math.log10(loss):.0f}".translate(RAISED)


RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


# Embeddings

INITIALISATIONS = {"N(0, 1)": 1.0, "N(0, 1/D)": 64**-0.5}
"""Standard deviations of embeddings at D = 64, by their distribution."""


def embedding_table(bound: float = 0.1) -> Table:
    """How soon the loss falls below a bound, by size of words and positions."""
    cells: dict[tuple[str, bool, float], list[str]] = {}
    for name in ("embedding_scale", "embedding_proportion"):
        stored = results.load(name)
        for run in stored["runs"]:
            key = run["draw"], run["scaled"], run.get("codes", 1.0)
            soon = first_below(run["loss"], bound, stored["steps"])
            cells.setdefault(key, []).append(soon)
    rows = []
    for (draw, scaled, codes), soon in cells.items():
        size = INITIALISATIONS[draw] * (8 if scaled else 1)  # √64
        factor = "times √D" if scaled else "not scaled"
        rows.append((f"{draw}, {factor}", size, codes * 0.5**0.5, ", ".join(soon)))
    heads = [
        Column("words", "RMS", digits=2),
        Column("encodings", "RMS", digits=2),
        Column("until loss < 0.1", "steps, by seed"),
    ]
    return table(["embedding", *heads], rows)
