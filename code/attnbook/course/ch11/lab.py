"""Figures and tables of laboratory page 11."""

import math

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

KINDS = ("self-attention", "restricted", "GRU", "convolution", "dilated")
UNITS = {"ms": 1e-3, "MB": 1e6}

UPDATES = {"induction_updates": "", "induction_query_first": ", last symbol first"}
"""Results on induction over many updates, and what is different."""
SHOWN = (400, 800, 2000, 4000, 6000)

# Costs of layers


def costs_table(of: str, unit: str) -> Table:
    """Show a stored cost of all kinds of layer by length, with its slope.

    The slope is that of the last doubling in a log-log plot: 2 is with the square.
    """
    lengths = [run["n"] for run in stored_runs("layer_cost", kind="GRU")]
    heads = [Column(f"n = {n:,}", unit, digits=1) for n in lengths]
    rows = []
    for kind in KINDS:
        costs = [run[of] for run in stored_runs("layer_cost", kind=kind)]
        cells = (cost / UNITS[unit] for cost in costs)
        rows.append((kind, *cells, math.log2(costs[-1] / costs[-2])))
    return table(["layer", *heads, Column("slope", digits=1)], rows)


def speeds_table() -> Table:
    """Show how fast whole translators train, by length, width and batch."""
    runs = [
        {"batch": f"width {run['d']}, batches of {run['tokens']:,} tokens", **run}
        for run in stored_runs("speed_by_length")
    ]
    speed = Value("speed", "tokens/s")
    names = {"length": "{} tokens"}
    return pivot(runs, "model", "length", speed, groups="batch", names=names)


# Recall of the first symbol


def recall_table() -> Table:
    """Show the accuracy of all kinds by length, after each training."""
    runs = [
        run | {"updates": results.load(name)["steps"]}
        for name in ("first_token", "first_token_longer")
        for run in stored_runs(name)
    ]
    right = Value("right", "%", 100, name="accuracy")
    names = {"n": "n = {}", "updates": "{:,} updates"}
    return pivot(runs, "kind", "n", right, groups="updates", names=names, head="layer")


# Induction


def induction_table() -> Table:
    """Show the accuracy of all kinds on induction after few updates."""
    accuracy = Value("accuracy", "%", 100, 1, name="accuracy")
    return pivot(stored_runs("induction"), "kind", None, accuracy, head="layer")


def updates_table() -> Table:
    """Show the accuracy of the slow kinds on induction over many updates."""
    rows = []
    for name, note in UPDATES.items():
        stored = results.load(name)
        for kind, d in dict.fromkeys((run["kind"], run["d"]) for run in stored["runs"]):
            runs = stored_runs(name, kind=kind, d=d)
            cells = (
                spread(
                    100 * run["accuracy"][step // stored["every"] - 1] for run in runs
                )
                if step <= stored["steps"]
                else None
                for step in SHOWN
            )
            rows.append((kind + note, d, *cells))
    heads = [Column(f"{step:,} updates", "%", "accuracy") for step in SHOWN]
    return table(["layer", Column("width"), *heads], rows)
