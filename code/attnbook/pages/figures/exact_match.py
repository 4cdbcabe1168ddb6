"""The figure that grows: exact match by number of clauses, one model a curve."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.pages.style import text_colour

CLAUSES = (1, 2, 3, 4)
CURVES = {  # stored result: label, colour, where the label begins
    "initial_state": ("initial state only", "#6E6E6E", (1.03, 12)),
    "static_mean": ("static context, mean", "#56B4E9", (1.62, 51)),
    "static_last": ("static context, last", "#0072B2", (1.5, 65)),
    "bahdanau": ("Bahdanau attention", "#D55E00", (2.9, 91)),
    "transformer": ("Transformer", "#000000", (2.9, 82)),
}


def exact_match_figure(*names: str, height: float = 3.4) -> Figure:
    """Draw exact match by clauses: mean over seeds, and the range of the seeds.

    Args:
        names: Stored results of the thread, in the order of drawing.
        height: Inches.

    Returns:
        The figure.
    """
    fig, ax = plt.subplots(figsize=(5.5, height))
    for name in names:
        label, colour, place = CURVES[name]
        shares = exact_match_shares(name)  # one row a seed, one column a clause count
        columns = list(zip(*shares, strict=True))
        means = [sum(column) / len(column) for column in columns]
        ax.plot(CLAUSES, means, marker="o", color=colour)
        ax.text(*place, label, color=text_colour(colour), size=11)
        ax.fill_between(
            CLAUSES, [*map(min, columns)], [*map(max, columns)], color=colour, alpha=0.2
        )
    ax.set(
        xlabel="clauses in the sentence",
        ylabel="faultless sentences, %",
        xticks=CLAUSES,
        ylim=(-3, 103),
    )
    return fig


def exact_match_shares(name: str) -> list[list[float]]:
    """Per cent of held-out sentences without a mistake: one row a seed, 1–4 clauses."""
    runs = results.load(name)["runs"]
    return [[100 * run["exact"][str(n)] for n in CLAUSES] for run in runs]


def print_exact_match(*names: str) -> None:
    """Print the share of faultless sentences: mean (lowest–highest) over seeds."""
    heads = ["1 clause", *(f"{n} clauses" for n in CLAUSES[1:])]
    print(_row("faultless, %", heads))
    for name in names:
        cells = []
        for column in zip(*exact_match_shares(name), strict=True):
            mean = sum(column) / len(column)
            mean, low, high = (
                f"{round(share, 1):g}" for share in (mean, min(column), max(column))
            )
            cells.append(f"{mean} ({low}–{high})")
        print(_row(name, cells))


def _row(name: str, cells: list[str]) -> str:
    return f"{name:21} {' '.join(f'{cell:17}' for cell in cells)}".rstrip()
