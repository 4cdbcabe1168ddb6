"""Figures and tables of chapter 10."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Column, Table, table
from experiments.ch10_exact_search import EXACT


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


PROBABLE = Column("log-probability", "mean", digits=1)
LENGTH = Column("length", "% of the reference", digits=0)
BLEU = Column("BLEU", digits=1)


def widths_table() -> Table:
    """Show what wider and wider beams find: ``without_penalty``."""
    rows = [
        (_decoding(run["width"]), run["log_p"], 100 * run["length"], run["bleu"])
        for run in results.load("without_penalty")["runs"]
    ]
    return table(["decoding", PROBABLE, LENGTH, BLEU], rows)


def _decoding(width: int) -> str:
    return "greedy" if width == 1 else f"W = {width}"


def ways_table() -> Table:
    """Show what a more and more thorough search is worth: ``exact_search``."""
    names = {"greedy": "greedy", "beam of 5, α = 0": "W = 5", EXACT: EXACT}
    ways = results.load("exact_search")["ways"]
    rows = [
        (name, way["log_p"], way["empty"], 100 * way["length"], way["bleu"])
        for name, way in ((names[key], ways[key]) for key in names)
    ]
    heads = [PROBABLE, Column("empty translations"), LENGTH, BLEU]
    return table(["decoding", *heads], rows)


def penalty_table() -> Table:
    """Show BLEU by the width of the beam, without a length penalty and with one."""
    without = results.load("without_penalty")["runs"]
    tuned = results.load("multi30k_beams")
    rows = [
        (_decoding(a["width"]), a["bleu"], b["bleu"])
        for a, b in zip(without, tuned["runs"], strict=True)
    ]
    alphas = "α = 0", f"α = {tuned['alpha']:g}"
    heads = [Column(alpha, group="BLEU", digits=1) for alpha in alphas]
    return table(["decoding", *heads], rows)
