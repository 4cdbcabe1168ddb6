"""Tables of laboratory page 7."""

from __future__ import annotations

from attnbook.core import results
from attnbook.pages.figures.ch07 import (
    SCHEMES,
    accuracy_over,
    most_frequent_accuracy,
)
from attnbook.pages.html_tables import Column, Table, spread, table
from attnbook.pages.tables import stored_runs

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
    rows["for comparison"] = [
        (
            "most frequent other symbol",
            most_frequent_accuracy(12),
            most_frequent_accuracy(24),
            most_frequent_accuracy(24),
        )
    ]
    heads = [
        Column("12 symbols", "%"),
        Column("positions 0–11", "%", "24 symbols"),
        Column("positions 12–23", "%", "24 symbols"),
    ]
    return table(["positions", *heads], rows)


def farther_table() -> Table:
    """Show the accuracy of the relative kinds at up to 16 times the trained length."""
    lengths = results.load("positions_farther")["lengths"]
    rows = []
    for kind in ("rotary", "relative"):
        runs = stored_runs("positions_farther", positions=kind)
        by_length = zip(*(run["right"] for run in runs), strict=True)
        rows.append(
            (SCHEMES[kind], *(spread(100 * x for x in found) for found in by_length))
        )
    heads = [Column(f"{n} symbols", "%") for n in lengths]
    return table(["positions", *heads], rows)
