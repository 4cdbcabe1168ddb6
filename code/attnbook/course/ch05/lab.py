"""Figures and tables of laboratory page 5."""

import math

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.ch05.figures import PARTS, possessives
from attnbook.course.kit.heat_maps import WHITE_LINES, colour_bar, heat_map
from attnbook.course.kit.html_tables import Column, Spread, Table, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

QUESTIONS = ("previous symbol", "the one before it")


# Heads and seeds


def seeds_table() -> Table:
    """What each stored run of ``heads`` has learned, seed by seed."""
    values = (
        Value(entry, "%", 100, 1, name)
        for entry, name in zip(("last", "before"), QUESTIONS, strict=True)
    )
    names = {"seed": "{}", "heads": lambda n: f"{n} head{'s' * (n > 1)}"}
    return pivot(
        stored_runs("heads"), "seed", None, *values, groups="heads", names=names
    )


def symbols_table() -> Table:
    """The symbol that a model gives better, and the other; as it is, and frozen."""
    counts = {1: "one head", 2: "two heads"}
    runs = [
        {**run, "model": f"{counts[run['heads']]}, {run['steps']:,} steps"}
        for run in stored_runs("two_symbols")
    ]
    values = [
        Value(
            lambda run, of=of, one=one: one(run[of]), "% correct", 100, 0, answer, group
        )
        for of, group in (
            ("accuracy", "weights as they are"),
            ("frozen", "weights held at their mean"),
        )
        for one, answer in ((max, "better answer"), (min, "other answer"))
    ]
    return pivot(runs, "model", None, *values)


# The translator


def cross_heads_table() -> Table:
    """Where each head of cross-attention attends when a possessive is written."""
    runs = [
        {"layer": f"layer {layer}", "head": str(head), "weights": shares}
        for layer, heads in enumerate(possessives()["weights"], 1)
        for head, shares in enumerate(heads, 1)
    ]
    values = [
        Value(("weights", place), "% of the weight", 100, name=word)
        for place, word in enumerate(("possessive", "next word"))
    ]
    return pivot(runs, "head", None, *values, groups="layer")


def held_heads_table() -> Table:
    """What a possessive keeps if heads are removed, or held at their mean.

    The last row is who always writes the commonest stem, or ending.
    """
    found = possessives()
    n, most = found["cases"], {part: found[f"{part}s"][0][1] for part in PARTS}
    rows = {"all heads as they are": found["hidden"][0]} | {
        f"mostly on {run['mostly on']}: {run['how']}": run
        for run in found["removed"]
        if run["mostly on"] != "neither"
    }
    cells = [
        (
            name,
            *(interval(run[part] / n, n) for part in PARTS),
            100 * (1 - run["either"] / n),
        )
        for name, run in {
            **rows,
            "(always the commonest)": most | {"either": n},
        }.items()
    ]
    columns = [Column(part, "% unchanged") for part in PARTS]
    return table(["heads", *columns, Column("other words", "%")], cells)


def interval(share: float, n: int, z: float = 1.96) -> Spread:
    """A share of n cases and its 95 % interval, by Wilson, in per cent."""
    middle, scale = share + z**2 / (2 * n), 1 + z**2 / n
    half = z * math.sqrt(share * (1 - share) / n + (z / n) ** 2 / 4)
    return Spread(100 * share, *(100 * (middle + d) / scale for d in (-half, half)))


def ablation_figure() -> Figure:
    """Draw by how much the translator's loss rises without each of its heads."""
    stored = results.load("head_ablation")
    kinds = [*dict.fromkeys(run["kind"] for run in stored["heads"])]
    maps = {kind: rises(stored["heads"], kind) for kind in kinds}  # (layers, heads)
    top = max(rise.max().item() for rise in maps.values())
    fig, axes = plt.subplots(1, len(maps), figsize=(5.5, 3.5), sharey=True)
    for ax, (kind, cells) in zip(axes, maps.items(), strict=True):
        notes = [[f"{x:z.0f}".replace("-", "−") for x in row] for row in cells.tolist()]
        names = {
            "rows": [str(n + 1) for n in range(cells.shape[0])],
            "columns": [str(n + 1) for n in range(cells.shape[1])],
        }
        heat_map(ax, cells, notes=notes, turn=0, vmax=top, **names, **WHITE_LINES)
        ax.set_title(kind.replace(" ", "\n").replace("cross-", "cross-\n"))
        ax.set_xlabel("head")
    axes[0].set_ylabel("layer")
    colour_bar(axes, "increase in loss, nats / 1,000")
    return fig


def rises(runs: list[dict], kind: str) -> Tensor:
    """The rises of one kind of attention, in thousandths: (layers, heads)."""
    of_kind = {
        (run["layer"], run["head"]): run["rise"] for run in runs if run["kind"] == kind
    }
    n_layers, n_heads = (max(numbers) + 1 for numbers in zip(*of_kind, strict=True))
    found = torch.zeros(n_layers, n_heads)
    for place, rise in of_kind.items():
        found[place] = 1000 * rise
    return found
