"""Tables of laboratory page 7."""

from attnbook.course.ch07.figures import (
    BLEU,
    ORDER,
    SCHEMES,
    accuracy_over,
    most_frequent_accuracy,
)
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

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


def vectors_table() -> Table:
    """Show how well one layer does with several vectors for positions: stored runs."""
    rows = [("none", accuracy_over("none", 1500, 12))]
    runs = stored_runs("position_vectors")
    for name in dict.fromkeys(run["vector"] for run in runs):
        shares = [100 * run["right"] for run in runs if run["vector"] == name]
        rows.append((name, spread(shares)))
    rows.append(("one learned vector for each", accuracy_over("learned", 1500, 12)))
    guess = "guess: the most frequent other symbol"
    rows.append((guess, most_frequent_accuracy(12)))
    return table(["position vectors", Column("accuracy", "%")], rows)


BY_LENGTH = {"right": "lengths"}
LENGTH_NAMES = {"lengths": "{} symbols"}
RIGHT = Value("right", "%", 100)


def farther_table() -> Table:
    """Show the accuracy of the relative kinds at up to 16 times the trained length."""
    runs = [
        *stored_runs("positions_farther", BY_LENGTH, positions="rotary"),
        *stored_runs("positions_farther", BY_LENGTH, positions="relative"),
    ]
    clamped = stored_runs("positions_farther_clamped", BY_LENGTH)
    runs += [{**run, "positions": "clamped"} for run in clamped]
    kinds = SCHEMES | {"clamped": "relative bias, clamped"}
    names = {"positions": kinds, **LENGTH_NAMES}
    return pivot(runs, "positions", "lengths", RIGHT, names=names)


CHANGES = {
    "nothing": "none",
    "averages": "averages over equal distances",
    "random": "averages over random pairs",
    "hidden": "keys at distances beyond 11 hidden",
}


def averages_table() -> Table:
    """Show what becomes of trained position vectors when scores are averaged."""
    runs = []
    for kind, name in (
        ("sinusoidal", "averaged_by_distance"),
        ("learned", "learned_averaged_by_distance"),
    ):
        for change in CHANGES:
            found = stored_runs(name, BY_LENGTH, change=change)
            runs += [{**run, "kind": kind} for run in found]
    names = {"change": CHANGES, **LENGTH_NAMES}
    about = {"names": names, "head": "change to the scores"}
    return pivot(runs, "change", "lengths", RIGHT, groups="kind", **about)


def captions_table() -> Table:
    """Show who comes first in the translator's German, and its BLEU: stored runs."""
    group = "of them, a human and an animal"
    values = (
        *ORDER,
        Value("human", name="human first", group=group),
        Value("mixed", name="all", group=group),
        BLEU,
    )
    runs = stored_runs("captions_without_order")
    return pivot(runs, "kept", None, *values, head="positions in")
