"""Figures and tables of chapter 10."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import Value, pivot, stored_runs


def cost_figure() -> Figure:
    """Draw the time of a token by its position, with a cache and recomputed."""
    stored = results.load("decode_cost")
    lines = {
        "recomputed": (stored["recomputed"]["1"], GREY),
        "with cache": (stored["cached"]["1"], COLOURS["target"]),
    }
    fig, ax = plt.subplots(figsize=(5.5, 3.0))
    for label, (times, colour) in lines.items():
        lengths = [int(n) for n in times]
        ax.plot(lengths, [*times.values()], marker="o", color=colour, label=label)
    ax.set(xlabel="tokens so far", ylabel="time for the last, ms", ylim=(0, None))
    label_lines(ax)
    return fig


PROBABLE = Value("log_p", "mean", digits=1, name="log-probability")
EMPTY = Value("empty", name="empty translations")
LENGTH = Value("length", "% of the reference", 100, name="length")
BLEU = Value("bleu", digits=1, name="BLEU")


def widths_table() -> Table:
    """Show what wider beams find: ``without_penalty``, and ``other_captions``."""
    others = bleu_of_others(alpha=0)
    runs = [
        {**run, "others": others.get(run["width"])}
        for run in stored_runs("without_penalty")
    ]
    columns = [PROBABLE, LENGTH]
    for entry, name in (("bleu", "first 300"), ("others", "714 others")):
        columns.append(Value(entry, name, digits=1, name="BLEU"))
    names = {"width": _decoding}
    return pivot(runs, "width", None, *columns, names=names, head="decoding")


def bleu_of_others(alpha: float) -> dict[int, float]:
    """BLEU of the shipped translator by width, on captions that chose no width."""
    runs = stored_runs("other_captions", translator="shipped", alpha=alpha)
    return {1: runs[0]["other"], **{run["width"]: run["bleu"] for run in runs}}


def _decoding(width: int) -> str:
    return "greedy" if width == 1 else f"W = {width}"


def ways_table() -> Table:
    """Show what a more and more thorough search is worth: ``exact_search``."""
    names = {
        "greedy": "greedy",
        "beam of 5, α = 0": "W = 5",
        "exact search": "exact search",
    }
    ways = results.load("exact_search")["ways"]
    runs = [{"decoding": name, **ways[key]} for key, name in names.items()]
    for run in runs[::-1]:  # greedy decoding, the first, last
        run["bleu"] -= runs[0]["bleu"]
    gain = BLEU._replace(unit="against greedy")
    return pivot(runs, "decoding", None, PROBABLE, EMPTY, LENGTH, gain)


def penalty_table() -> Table:
    """Show BLEU by the width of the beam and α: ``other_captions``."""
    runs = [
        {"width": width, "alpha": alpha, "bleu": bleu}
        for alpha in (0, 0.6, 1.4)
        for width, bleu in bleu_of_others(alpha).items()
    ]
    names = {"width": _decoding, "alpha": "α = {:g}"}
    return pivot(runs, "width", "alpha", BLEU, names=names, head="decoding")
