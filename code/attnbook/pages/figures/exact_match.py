"""The figure that grows: exact match by number of clauses, one model a curve."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.pages.colours import COLOURS, DARK_GREY, SKY, text_colour
from attnbook.pages.curves import band
from attnbook.pages.tables import mean_and_range, row, stored_runs

CLAUSES = (1, 2, 3, 4)
CURVES = {  # stored result: label, colour, where the label begins
    "initial_state": ("initial state only", DARK_GREY, (1.03, 12)),
    "static_mean": ("static context, mean", SKY, (1.62, 51)),
    "static_last": ("static context, last", COLOURS["source"], (1.5, 65)),
    "bahdanau": ("Bahdanau attention", COLOURS["target"], (2.9, 91)),
    "transformer": ("Transformer", "#000000", (2.9, 82)),
}


def exact_match_figure(*names: str, height: float = 3.4) -> Figure:
    """Draw exact match by clauses: mean over seeds, and the range of the seeds.

    Args:
        names: Stored results of the thread, in the order of drawing.
        height: Inches.
    """
    fig, ax = plt.subplots(figsize=(5.5, height))
    for name in names:
        label, colour, place = CURVES[name]
        band(ax, CLAUSES, exact_match_shares(name), marker="o", color=colour)
        ax.text(*place, label, color=text_colour(colour), size=11)
    ax.set(
        xlabel="clauses in the sentence",
        ylabel="faultless sentences, %",
        xticks=CLAUSES,
        ylim=(-3, 103),
    )
    return fig


def exact_match_shares(name: str) -> list[list[float]]:
    """Per cent of held-out sentences without a mistake: one row a seed, 1–4 clauses."""
    return [[100 * run["exact"][str(n)] for n in CLAUSES] for run in stored_runs(name)]


def print_exact_match(*names: str) -> None:
    """Print the share of faultless sentences: mean (lowest–highest) over seeds."""
    widths = 22, 18
    heads = ["1 clause", *(f"{n} clauses" for n in CLAUSES[1:])]
    print(row("faultless, %", heads, widths))
    for name in names:
        columns = zip(*exact_match_shares(name), strict=True)
        print(row(name, map(mean_and_range, columns), widths))
