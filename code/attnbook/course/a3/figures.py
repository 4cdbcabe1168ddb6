"""Figures and tables of appendix A3."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import (
    GREY,
    INK,
    SKY,
)
from attnbook.course.kit.curves import band, label_lines, logarithmic_x
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import TRANSLATORS, Value, pivot, stored_runs

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
