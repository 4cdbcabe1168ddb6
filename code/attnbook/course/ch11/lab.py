"""Figures and tables of laboratory page 11."""

import math

from attnbook.core import results
from attnbook.course.ch11.first_symbol import (
    LAYER_STACKS,
    contiguous_dilations,
    exponential_dilations,
)
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

KINDS = ("self-attention", "restricted", "GRU", "convolution", "dilated")
UNITS = {"ms": 1e-3, "MB": 1e6}

UPDATES = {"induction_updates": "", "induction_query_first": ", last symbol first"}
"""Results on induction over many updates, and what is different."""
SHOWN = (400, 800, 2000, 4000, 6000)

# Costs of layers


def runs_of(kind: str) -> list[dict]:
    """Stored costs of a kind at one width, in ascending order of the length."""
    width = results.load("layer_cost")["width"]
    return sorted(
        stored_runs("layer_cost", kind=kind, d=width), key=lambda run: run["n"]
    )


def costs_table(of: str, unit: str) -> Table:
    """Show a stored cost of all kinds of layer by length, with its slope.

    The slope is that of the last doubling in a log-log plot: 2 is with the square.
    """
    heads = [Column(f"n = {run['n']:,}", unit, digits=1) for run in runs_of("GRU")]
    rows = []
    for kind in KINDS:
        costs = [run[of] for run in runs_of(kind)]
        cells = (cost / UNITS[unit] for cost in costs)
        rows.append((kind, *cells, math.log2(costs[-1] / costs[-2])))
    return table(["layer", *heads, Column("slope", digits=1)], rows)


def batches_table() -> Table:
    """Show the stored time per sequence, by batch size."""
    each = Value(
        lambda run: run["seconds"] / run["batch"],
        "ms per sequence",
        scale=1000,
        digits=1,
        name="batch size",
    )
    return pivot(stored_runs("layer_batches"), "kind", "batch", each, head="layer")


# Recall of the first symbol


def recall_runs(kind: str, name: str = "first_token") -> dict[int, list[dict]]:
    """Stored runs of a kind, by length."""
    lengths = sorted({run["n"] for run in stored_runs(name, kind=kind)})
    return {n: stored_runs(name, kind=kind, n=n) for n in lengths}


def path_length(kind: str, n: int) -> int:
    """Steps of the shortest path from the first of n positions to the last.

    A layer that only the residual connection passes is no step.
    """
    if kind == "GRU":
        return n
    if kind == "self-attention":
        return 1
    if kind == "contiguous":
        return len(contiguous_dilations(n))
    to_go, steps = n - 1, 0
    for dilation in reversed(exponential_dilations(n)):
        taken = to_go // dilation  # 0, 1 or 2: what the kernel can see
        to_go, steps = to_go - taken * dilation, steps + (taken > 0)
    return steps


def recall_table() -> Table:
    """Show the accuracy of all kinds by length, for each seed, after each training."""
    cells = []
    for name, stacks in (
        ("first_token", "just enough layers"),
        ("first_token_longer", "just enough layers"),
        ("first_token_room", "half as many layers again"),
    ):
        training = f"{results.load(name)['steps']:,} updates, {stacks}"
        for kind in LAYER_STACKS:
            for n, runs in recall_runs(kind, name).items():
                right = " · ".join(f"{100 * run['right']:.0f}" for run in runs)
                about = {"training": training, "kind": kind, "n": n}
                cells.append(about | {"right": right})
    right = Value("right", "%", name="accuracy, for each seed")
    about = {"groups": "training", "names": {"n": "n = {}"}, "head": "layer"}
    return pivot(cells, "kind", "n", right, **about)


def path_lengths_table() -> Table:
    """Show the steps of the shortest path from the first position to the last."""
    lengths = [*recall_runs("GRU")]
    rows = [(kind, *(path_length(kind, n) for n in lengths)) for kind in LAYER_STACKS]
    return table(["layer", *(Column(f"n = {n}", "steps") for n in lengths)], rows)


# Induction


def induction_table() -> Table:
    """Show the accuracy of all kinds on induction, for each seed and training."""
    runs = [
        run | {"updates": results.load(name)["steps"]}
        for name in ("induction", "induction_longer")
        for run in stored_runs(name)
    ]
    accuracy = Value("accuracy", "%", 100, 1, name="accuracy")
    about = {"groups": "updates", "names": {"updates": "{:,} updates"}, "head": "layer"}
    return pivot(runs, "kind", None, accuracy, **about)


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
