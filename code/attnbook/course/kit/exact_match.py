"""The figure that grows: exact match by number of clauses, one model a curve."""

from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.course.kit.colours import COLOURS, DARK_GREY, SKY, text_colour
from attnbook.course.kit.curves import band
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import NAMES, Value, pivot, stored_runs

CLAUSES = (1, 2, 3, 4)
CURVES = {  # stored result: colour, where the label begins
    "initial_state": (DARK_GREY, (1.03, 12)),
    "static_mean": (SKY, (1.62, 51)),
    "static_last": (COLOURS["source"], (1.5, 65)),
    "bahdanau": (COLOURS["target"], (2.9, 91)),
    "transformer": ("#000000", (2.9, 82)),
}


def exact_match_figure(*names: str) -> Figure:
    """Draw exact match by clauses: mean over seeds, and the range of the seeds."""
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for name in names:
        colour, place = CURVES[name]
        exact = [run["exact"] for run in stored_runs(name)]
        shares = [[100 * of[str(n)] for n in CLAUSES] for of in exact]
        band(ax, CLAUSES, shares, marker="o", color=colour)
        ax.text(*place, NAMES[name], color=text_colour(colour), size=12.5)
    ax.set(
        xlabel="clauses in the sentence",
        ylabel="exact match, %",
        xticks=CLAUSES,
        ylim=(-3, 103),
    )
    return fig


def exact_match_table(*names: str, clauses: Sequence[int] = CLAUSES) -> Table:
    """Show exact match by number of clauses: mean and range over seeds.

    Args:
        names: Stored results; a reader gets their names in :data:`NAMES`.
        clauses: A column for each.
    """
    return by_clauses(names, "exact", "exact match", clauses)


def by_clauses(
    names: Iterable[str], entry: str, group: str, clauses: Iterable[int]
) -> Table:
    """Show an entry of stored results: a row for each, columns by number of clauses."""
    runs = [
        {"model": NAMES[name], **run} for name in names for run in stored_runs(name)
    ]
    return pivot(runs, "model", None, *(with_clauses(entry, group, n) for n in clauses))


def with_clauses(entry: str, group: str, n: int, digits: int = 1) -> Value:
    """The column of an entry for sentences of n clauses, under a heading."""
    name = f"{n} clause{'s' * (n > 1)}"
    return Value((entry, str(n)), "%", 100, digits, name, group)
