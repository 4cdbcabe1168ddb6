"""Figures and tables of laboratory page 5."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.ch05.figures import kept_table
from attnbook.course.kit.heat_maps import WHITE_LINES, colour_bar, heat_map
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs

QUESTIONS = ("previous symbol", "the one before it")


# Heads and seeds


def seeds_table() -> Table:
    """What each stored run of ``heads`` has learned, seed by seed."""
    rows = {}
    for n_heads in sorted({run["heads"] for run in stored_runs("heads")}):
        runs = stored_runs("heads", heads=n_heads)
        rows[f"{n_heads} head{'s' * (n_heads > 1)}"] = [
            (str(run["seed"]), 100 * run["last"], 100 * run["before"]) for run in runs
        ]
    return table(["seed", *(Column(name, "%", digits=1) for name in QUESTIONS)], rows)


def symbols_table() -> Table:
    """The symbol that a model gives better, and the other; as it is, and frozen."""
    runs = results.load("two_symbols")["runs"]
    rows = []
    for heads, steps in dict.fromkeys((run["heads"], run["steps"]) for run in runs):
        same = stored_runs("two_symbols", heads=heads, steps=steps)
        name = f"{'one head' if heads == 1 else 'two heads'}, {steps:,} steps"
        lines = [
            [100 * x for of in ("accuracy", "frozen") for x in sorted(run[of])[::-1]]
            for run in same
        ]
        rows.append((name, *map(spread, zip(*lines, strict=True))))
    columns = [
        Column(answer, "% correct", group=group)
        for group in ("weights as they are", "weights held at their mean")
        for answer in ("better answer", "other answer")
    ]
    return table(["model", *columns], rows)


# The wrong split


def influence_figure(panels: dict[str, Tensor]) -> Figure:
    """Draw influence matrices next to each other, each against its largest entry."""
    fig, axes = plt.subplots(1, len(panels), figsize=(5.5, 2.5))
    for ax, (title, matrix) in zip(axes, panels.items(), strict=True):
        ends = ["1", *[""] * (len(matrix) - 2), f"{len(matrix)}"]
        look = {"rows": ends, "columns": ends, "turn": 0, "square": True}
        heat_map(ax, matrix / matrix.max(), **look)
        ax.spines[["left", "bottom"]].set_visible(True)
        ax.set(title=title, xlabel="changed position")
    axes[0].set(ylabel="output position")
    return fig


# The translator


def cross_heads_table() -> Table:
    """Where each head of cross-attention attends when a possessive is written."""
    layers = results.load("two_sources")["weights"]
    columns = [
        Column("head"),
        *(Column(word, "% of the weight") for word in ("possessive", "next word")),
    ]
    rows = {
        f"layer {n}": [
            (str(head), *(100 * share for share in shares))
            for head, shares in enumerate(heads, 1)
        ]
        for n, heads in enumerate(layers, 1)
    }
    return table(columns, rows)


def held_heads_table() -> Table:
    """What a possessive keeps if heads are removed, or held at their mean."""
    runs = results.load("two_sources")["removed"]
    return kept_table(
        "heads",
        [
            (f"mostly on {run['mostly on']}: {run['how']}", run)
            for run in runs
            if run["mostly on"] != "neither"
        ],
    )


def offsets_by_head_table() -> Table:
    """Where each head of the shipped translator's encoder attends."""
    stored = results.load("head_ablation")
    group = "% of the weight on the key at distance"
    columns = [
        Column("head"),
        *(
            Column(f"{d:+}".replace("-", "−") if d else "0", group=group)
            for d in stored["distances"]
        ),
        Column("on `<eos>`", "%"),
        Column("increase in loss", "nats", digits=3),
    ]
    rises = {
        (run["layer"], run["head"]): run["rise"]
        for run in stored["heads"]
        if run["kind"] == "encoder self-attention"
    }
    rows: dict[str, list[tuple[str | float, ...]]] = {}
    for found in stored["offsets"]:
        row = [100 * share for share in (*found["offsets"], found["eos"])]
        rise = rises[found["layer"], found["head"]]
        group = rows.setdefault(f"layer {found['layer'] + 1}", [])
        group.append((str(found["head"] + 1), *row, rise))
    return table(columns, rows)


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


def together_table() -> Table:
    """How the loss rises if the least important heads are removed together."""
    stored = results.load("head_ablation")
    rows = [(int(k), rise) for k, rise in stored["together"].items()]
    columns = [Column("heads removed", "of 48"), Column("rise", "nats", digits=3)]
    return table(columns, rows)


def layers_table() -> Table:
    """How the loss rises if all heads of one attention are removed."""
    stored = results.load("head_ablation")["layers"]
    kinds = [*dict.fromkeys(run["kind"] for run in stored)]
    group = "increase in loss"
    columns = ["layer", *(Column(kind, "nats", group, 3) for kind in kinds)]
    by_layer: dict[int, list[float]] = {}
    for run in stored:
        by_layer.setdefault(run["layer"], []).append(run["rise"])
    rows = [(str(layer + 1), *found) for layer, found in by_layer.items()]
    return table(columns, rows)
