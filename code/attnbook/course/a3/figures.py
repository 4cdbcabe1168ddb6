"""Figures and tables of appendix A3."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.analysis.complexity import count
from attnbook.core import results
from attnbook.course.a3.encoders import toy_lite_transformer, toy_local_transformer
from attnbook.course.a3.two_orders import valid_translations
from attnbook.course.kit.colours import (
    DARK_GREY,
    GREY,
    INK,
    PALE_GREY,
    SKY,
    text_colour,
)
from attnbook.course.kit.curves import band, label_lines, logarithmic_x
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import TRANSLATORS, Value, pivot, stored_runs
from attnbook.nn.masks import key_mask
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import toy_transformer

# Windows and sinks

KEPT = {
    "all": "all",
    "words": "all but `<bos>`",
    "last": "the last six",
    "word": "first word and the last five",
    "sink": "`<bos>` and the last five",
    "average": "averaged `<bos>` and the last five",
    "no values": "`<bos>` without values, last five",
}
EARLY_END = Value("early_end", "%", 100, 1, "early end")
SCORE = Value("bleu", digits=1, name="BLEU")


def sinks_table() -> Table:
    """Show what three translators write, by what their caches keep."""
    length = Value("words", "words", digits=1, name="length")
    too_long = Value("long", "translations", name="far too long")
    return _by_translator(
        ("all", "words", "last", "word", "sink"), EARLY_END, SCORE, length, too_long
    )


def bos_table() -> Table:
    """Show what three translators do if ``<bos>`` is kept, averaged or emptied."""
    at_end = Value("loss_end", "nats", digits=2, name="at the end")
    loss = Value("loss", "nats", digits=3, name="loss")
    return _by_translator(
        ("last", "sink", "average", "no values"), EARLY_END, at_end, loss, SCORE
    )


def _by_translator(keeps: tuple[str, ...], *values: Value) -> Table:
    """A row for each choice of what is kept, under each translator."""
    return pivot(
        stored_runs("sinks", keeps=keeps),
        "keeps",
        None,
        *values,
        groups="translator",
        names={"keeps": KEPT, "translator": TRANSLATORS},
        head="kept in the cache",
    )


# The state of linear attention

LOOKS = {"softmax": INK, "linear": SKY}


def state_figure() -> Figure:
    """Draw the accuracy of recall against the width of a head."""
    stored = results.load("linear_state")
    fig, ax = plt.subplots(figsize=(5.5, 2.9))
    for kind, colour in LOOKS.items():
        runs = sorted(stored_runs("linear_state", kind=kind), key=lambda r: r["d_k"])
        by_seed = zip(*(run["accuracy"] for run in runs), strict=True)
        shares = [[100 * share for share in seed] for seed in by_seed]
        widths = [run["d_k"] for run in runs]
        band(ax, widths, shares, colour, marker="o", label=kind)
    logarithmic_x(ax, widths)
    ax.axhline(100 / (stored["n"] - 2), color=GREY, linestyle=":")
    ax.set(xlabel="features per head", ylabel="correct answers, %", ylim=(0, 104))
    label_lines(ax)
    return fig


# Long–short attention on the toy task

ENCODERS = {
    "self-attention": ("transformer", toy_transformer),
    "long–short attention": ("lite_transformer", toy_lite_transformer),
    "convolution only": ("local_encoder", toy_local_transformer),
}
N_SEEDS = 3  # of each encoder; the plain one has been trained with more
POSITIONS = 24  # of a sentence of three or four clauses


def mixer_cost(make: object) -> tuple[int, int]:
    """Parameters and multiply-adds of the layer that mixes positions."""
    model = make(len(SOURCE), len(TARGET))
    layer = model.encoder[0].attention
    x = torch.zeros(1, POSITIONS, model.config.d_model)
    mask = key_mask(torch.ones(1, POSITIONS, dtype=torch.long))
    parameters = sum(p.numel() for p in layer.parameters())
    return parameters, count(lambda: layer(x, x, x, mask))


def encoders_table() -> Table:
    """Compare encoders: size, work, and exact match on four clauses."""
    rows = []
    for name, (experiment, make) in ENCODERS.items():
        parameters, work = mixer_cost(make)
        runs = stored_runs(experiment)[:N_SEEDS]
        exact = spread(100 * run["exact"]["4"] for run in runs)
        rows.append((name, parameters / 1e3, work / 1e3, exact))
    heads = [
        Column("size", "10³", digits=1),
        Column("work", "10³"),
        Column("exact match", "%", digits=1),
    ]
    return table(["encoder", *heads], rows)


# Lite Transformer's own numbers

SIZES = {  # of its figure on compression: MB and BLEU, English–French
    "Transformer": (176, 39.9),
    "lite layers": (69.2, 39.6),
    "8-bit weights": (17.3, 39.6),
    "pruning": (9.7, 39.5),
}
BLEU = {  # by millions of multiply-adds; at 338 and 1,330 read off their figure
    "Lite Transformer": {90: 35.3, 360: 39.1, 527: 39.6, 1330: 40.8},
    "Transformer": {87: 33.6, 338: 37.6, 527: 38.4, 1330: 39.9},
}
LABELS = {"Lite Transformer": (470, 40.6), "Transformer": (760, 38.1)}


def lite_figure() -> Figure:
    """Draw the size of the model over three steps, and BLEU against multiply-adds."""
    fig, (above, below) = plt.subplots(
        2, 1, figsize=(5.5, 5.4), gridspec_kw={"height_ratios": (1, 1.15)}
    )
    _sizes(above)
    for (name, points), colour in zip(BLEU.items(), (SKY, INK), strict=True):
        below.plot(points.keys(), points.values(), marker="o", color=colour)
        x, y = LABELS[name]
        below.text(x, y, name, color=text_colour(colour))
    below.set(xlabel="multiply-adds, million", ylabel="BLEU")
    below.set(xlim=(0, 1400), xticks=range(0, 1401, 200), ylim=(33, 41.8))
    return fig


def _sizes(ax: Axes) -> None:
    """Bars of the model's size, from the plain Transformer to the pruned one."""
    names = [name if i == 0 else f"+ {name}" for i, name in enumerate(SIZES)]
    megabytes = [size for size, _ in SIZES.values()]
    bars = ax.barh(names, megabytes, color=[DARK_GREY, SKY, PALE_GREY, PALE_GREY])
    labels = [f" {size:g} MB, BLEU {bleu}" for size, bleu in SIZES.values()]
    ax.bar_label(bars, labels)
    ax.invert_yaxis()
    ax.set(xlabel="size, MB", xlim=(0, 320))


# Two word orders

MODELS = {
    "one after another, two orders": "autoregressive, two orders",
    "at once, one order": "non-autoregressive, one order",
    "at once, two orders": "non-autoregressive, two orders",
    "at once, distilled": "non-autoregressive, distilled (below)",
}


def orders_table() -> Table:
    """Compare models on sentences with two valid translations."""
    valid = Value("valid", "%", 100, name="valid")
    words = Value("right_words", "%", 100, name="right words")
    about = {"names": {"model": MODELS}, "head": "model, training data"}
    return pivot(stored_runs("two_orders"), "model", None, valid, words, **about)


def orders_examples(number: int = 2) -> Table:
    """Show what the model that predicts all words at once makes of two orders."""
    run = stored_runs("two_orders", model="at once, two orders")[0]
    columns = [(source, example_column(source, out)) for source, out in run["examples"]]
    sources, outputs = zip(*columns[:number], strict=True)
    names = "subject first", "object first", "non-autoregressive model"
    return table(["translation", *sources], zip(names, *outputs, strict=True))


def example_column(source: str, output: str) -> list[str]:
    """Both valid translations of a sentence, and a model's output."""
    valid = valid_translations(translate_by_rule(source))
    return [*map(" ".join, valid), output]
