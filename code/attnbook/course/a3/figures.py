"""Figures and tables of appendix A3."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import GREY, INK, SKY
from attnbook.course.kit.curves import band, label_lines, logarithmic_x
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import TRANSLATORS, Value, pivot, stored_runs

# Windows and sinks

KEPT = {
    "all": "all",
    "last": "the last six",
    "word": "first word and the last five",
    "sink": "`<bos>` and the last five",
    "average": "`<bos>` (averaged) and the last five",
    "no values": "`<bos>` (values 0) and the last five",
}


def sinks_table(*translators: str) -> Table:
    """Show what translators write, by what their caches keep."""
    return pivot(
        stored_runs("sinks", keeps=(*KEPT,), translator=translators),
        "keeps",
        None,
        Value("early_end", "%", 100, 1, "early end"),
        Value("bleu", digits=1, name="BLEU"),
        Value("long", "translations", name="far too long"),
        groups="translator" if len(translators) > 1 else None,
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
