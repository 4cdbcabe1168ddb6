"""Figures and tables of chapter 10."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Column, Table, table


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


def widths_table() -> Table:
    """Show BLEU and time by the width of the beam: ``multi30k_beams``."""
    rows = [
        ("greedy" if run["width"] == 1 else f"W = {run['width']}", run)
        for run in results.load("multi30k_beams")["runs"]
    ]
    heads = Column("BLEU", digits=1), Column("time", "s", digits=1)
    return table(
        ["decoding", *heads], [(name, r["bleu"], r["seconds"]) for name, r in rows]
    )


def ways_table() -> Table:
    """Show what a more and more thorough search is worth: ``exact_search``."""
    rows = [
        (name, way["log_p"], way["empty"], 100 * way["length"], way["bleu"])
        for name, way in results.load("exact_search")["ways"].items()
    ]
    heads = [
        Column("log-probability", "mean", digits=1),
        Column("empty translations"),
        Column("length", "% of the reference", digits=0),
        Column("BLEU", digits=1),
    ]
    return table(["decoding", *heads], rows)
