"""Figure and tables of laboratory page 7."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.ch07.figures import SCHEMES, accuracy_over, most_frequent_accuracy
from attnbook.course.kit.colours import INK, PALE_GREY, SKY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from attnbook.nn.positions import sinusoids


def distance_figure(
    d: int = 64, starts: Sequence[int] = (100, 500, 1500), farthest: int = 60
) -> Figure:
    """Draw the dot product of the encodings of p and p + k against k, for several p."""
    distances = range(-farthest, farthest + 1)
    encodings = sinusoids(max(starts) + farthest + 1, d, dtype=torch.float64)
    fig, ax = plt.subplots(figsize=(5.5, 3.0))
    looks = zip((6, 3, 1.2), (PALE_GREY, SKY, INK), strict=True)
    for p, (width, colour) in zip(starts, looks, strict=True):
        around = encodings[p - farthest : p + farthest + 1]
        products = (around @ encodings[p]).round(decimals=9)  # labels in this order
        ax.plot(distances, products, linewidth=width, color=colour, label=f"p = {p}")
    ax.set(xlabel="distance k", ylabel="PE(p) · PE(p + k)", ylim=(0, None))
    label_lines(ax)
    return fig


KINDS = {"none": "none"} | SCHEMES


def schemes_table() -> Table:
    """Show accuracy within and beyond the trained length, for two training times."""
    rows = {
        f"{steps:,} training steps": [
            (
                name,
                accuracy_over(kind, steps, 12),
                accuracy_over(kind, steps, 24, slice(12)),
                accuracy_over(kind, steps, 24, slice(12, None)),
            )
            for kind, name in KINDS.items()
        ]
        for steps in (400, 1500)
    }
    within, beyond = most_frequent_accuracy(12), most_frequent_accuracy(24)
    frequent = ("most frequent at other positions", within, beyond, beyond)
    rows["for comparison"] = [frequent]
    heads = [
        Column("12 symbols", "%"),
        Column("positions 0–11", "%", "24 symbols"),
        Column("positions 12–23", "%", "24 symbols"),
    ]
    return table(["positions", *heads], rows)


def farther_table() -> Table:
    """Show the accuracy of the relative kinds at up to 16 times the trained length."""
    lengths = results.load("positions_farther")["lengths"]
    rows = [
        (SCHEMES[kind], *by_length(stored_runs("positions_farther", positions=kind)))
        for kind in ("rotary", "relative")
    ]
    clamped = results.load("positions_farther_clamped")["runs"]
    rows.append(("relative bias, clamped", *by_length(clamped)))
    heads = [Column(f"{n} symbols", "%") for n in lengths]
    return table(["positions", *heads], rows)


def by_length(runs: Sequence[dict]) -> list[Spread]:
    """Accuracy at each tested length: mean of stored runs and range, in per cent."""
    columns = zip(*(run["right"] for run in runs), strict=True)
    return [spread(100 * x for x in found) for found in columns]


def few_hands_table() -> Table:
    """Show how well one clock hand and 32 do at new positions."""
    rows = []
    for hands in (1, 32):
        runs = stored_runs("few_hands_beyond", hands=hands)
        rows.append((str(hands), spread(100 * run["right"] for run in runs)))
    return table(["clock hands", Column("positions 12–23", "%")], rows)


def masked_layer_table() -> Table:
    """Show two layers without positions, with the causal mask in one or in both."""
    in_both = {"two layers, both masked": "causal, two layers"}
    rows = {
        "two layers, masked in the first": stored_runs("order_by_mask", masked=1),
        "two layers, masked in the second": stored_runs("order_by_mask", masked=2),
    }
    for name, model in (in_both | {"one layer, masked": "causal, one layer"}).items():
        rows[name] = stored_runs("order_without_positions", model=model)
    bag = results.load("order_without_positions")["bag"]["causal"]
    found = [
        (name, *(spread(100 * run["right"][k] for run in runs) for k in (0, 1)))
        for name, runs in rows.items()
    ]
    found.append(("the most frequent earlier symbol", 100 * bag, 100 * bag))
    heads = [Column("one back", "%"), Column("two back", "%")]
    return table(["model", *heads], found)


CHANGES = {
    "nothing": "none",
    "averages": "averages over equal distances",
    "random": "averages over random pairs",
    "hidden": "keys at distances beyond 11 hidden",
}


def averages_table() -> Table:
    """Show what becomes of trained position vectors when scores are averaged."""
    lengths = results.load("averaged_by_distance")["lengths"]
    stored = {
        "sinusoidal": "averaged_by_distance",
        "learned": "learned_averaged_by_distance",
    }
    rows = {}
    for kind, name in stored.items():
        found = {c: by_length(stored_runs(name, change=c)) for c in CHANGES}
        untested = [None] * (len(lengths) - len(found["nothing"]))
        rows[kind] = [(CHANGES[c], *found[c], *untested) for c in CHANGES]
    heads = [Column(f"{n} symbols", "%") for n in lengths]
    return table(["change to the scores", *heads], rows)


def captions_table() -> Table:
    """Show who comes first in the translator's German, and its BLEU: stored runs."""
    rows = [
        [run[key] for key in ("kept", "right", "same", "human", "mixed", "bleu")]
        for run in results.load("captions_without_order")["runs"]
    ]
    of_these = "of them, a human and an animal"
    heads = [
        Column("nouns in the right order", "of 560 sentences"),
        Column("one translation for both", "of 280 pairs"),
        Column("human first", group=of_these),
        Column("all", group=of_these),
        Column("BLEU", digits=1),
    ]
    return table(["positions in", *heads], rows)
