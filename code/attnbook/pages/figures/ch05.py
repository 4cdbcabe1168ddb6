"""Figures and tables of chapter 5."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor, nn

from attnbook.nn.multi_head import split_heads
from attnbook.pages.colours import GREY
from attnbook.pages.heat_maps import WHITE_LINES, frame_cells, heat_map
from attnbook.pages.tables import stored_runs
from attnbook.toy.tasks import TaskBatch, task_accuracy

LETTERS = "·abcdefghijklmnop"  # PAD and the 16 symbols of a puzzle
HEAD_COLOURS = ListedColormap(["#8CC8EC", "#F5E36B", "#D3D7DC", "#E5B8CF"])


# The puzzle


def spell(ids: Tensor) -> str:
    """Write ids, (L,), as letters, and a dot where there is no symbol."""
    return " ".join(LETTERS[i] for i in ids.tolist())


def print_right(name: str, model: nn.Module, test: TaskBatch) -> None:
    """Print the share of right answers to the two questions of ``previous``."""
    last, before = task_accuracy(model, test).nanmean(0).tolist()
    print(f"{name:15} last symbol {last:4.0%}, the one before {before:4.0%} right")


def print_heads_table() -> None:
    """Print what each stored run of ``heads`` has learned, seed by seed."""
    print(f"{'heads':5}   {'last symbol, % right':24}   the one before, % right")
    for n_heads in sorted({run["heads"] for run in stored_runs("heads")}):
        runs = stored_runs("heads", heads=n_heads)
        columns = [
            " ".join(f"{100 * run[answer]:4.0f}" for run in runs)
            for answer in ("last", "before")
        ]
        print(f"{n_heads:5}   {columns[0]:24}   {columns[1]}")


def print_looks(weights: Tensor) -> None:
    """Print how much of its weight each head puts one and two places back.

    Args:
        weights: Of one layer, (B, H, T, T); the mean is over sequences and over the
            places from 2 on, which have both.
    """
    for head, map_ in enumerate(weights.mean(0)[:, 2:]):  # (T - 2, T): row 0 is place 2
        one, two = (map_.diagonal(2 - back).mean().item() for back in (1, 2))
        print(f"head {head}: {one:4.0%} one place back, {two:4.0%} two places back")


def print_split_table() -> None:
    """Print what each stored run of ``wrong_split`` has learned, seed by seed."""
    runs = stored_runs("wrong_split")
    print("split  symbols  right answers, %, by seed")
    for split, length in sorted({(run["split"], run["length"]) for run in runs}):
        shares = [
            100 * fmean(run["right"])
            for run in stored_runs("wrong_split", split=split, length=length)
        ]
        print(f"{split}  {length:7}  {' '.join(f'{x:3.0f}' for x in shares)}")


# Maps


def maps_figure(weights: Tensor, ids: Tensor, columns: int = 2) -> Figure:
    """Draw where each head looks, the last symbol and the one before it framed.

    Args:
        weights: Of one sequence, (H, T, T).
        ids: The sequence, (T,).
        columns: Panels beside each other.
    """
    rows = -(-len(weights) // columns)
    width = 5.5 if columns > 1 else 3.6
    title = 0.3 if len(weights) > 1 else 0.0  # inches
    size = (width, 0.3 + rows * (width / columns + title))
    fig, axes = plt.subplots(rows, columns, squeeze=False, figsize=size)
    for head, ax in enumerate(axes.flat):
        _map(ax, weights[head], spell(ids).split())
        if title:
            ax.set(title=f"head {head}")
    return fig


def _map(ax: Axes, weights: Tensor, letters: Sequence[str]) -> None:
    look = {"rows": letters, "columns": letters, "roles": ("query", "key")}
    heat_map(ax, weights, square=True, turn=0, **look)
    before = [(i, i - back) for i in range(len(letters)) for back in (1, 2)]
    frame_cells(ax, [(i, j) for i, j in before if j >= 0], GREY, 0.7)


# Splitting, rightly and wrongly


def owners(t: int, d: int, n_heads: int, *, transposed: bool) -> Tensor:
    """In which head, and at which of its places, does each number land?

    Args:
        t: Places T.
        d: Numbers D of each.
        n_heads: H.
        transposed: Whether ``view`` is followed by its transpose, as it should be.

    Returns:
        (T, D, 2): head and place.
    """
    numbers = torch.arange(t * d).view(1, t, d)
    if transposed:
        heads = split_heads(numbers, n_heads)[0]  # (H, T, d_k)
    else:
        heads = numbers.view(n_heads, t, d // n_heads)  # the mistake
    found = torch.empty(t * d, 2, dtype=torch.long)
    for head in range(n_heads):
        for place in range(t):
            found[heads[head, place]] = torch.tensor([head, place])
    return found.view(t, d, 2)


def split_figure(words: Sequence[str], d: int = 4, n_heads: int = 2) -> Figure:
    """Draw which head gets which number of which word, rightly and wrongly split."""
    t = len(words)
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(5.5, 3.9))
    for ax, transposed in zip(axes, (True, False), strict=True):
        heads, places = owners(t, d, n_heads, transposed=transposed).unbind(-1)
        look = {"cmap": HEAD_COLOURS, "vmax": HEAD_COLOURS.N, **WHITE_LINES}
        numbers = [*map(str, range(d))]
        heat_map(ax, heads, rows=words, columns=numbers, turn=0, notes=places, **look)
        for head in range(n_heads):
            middle = (head + 0.5) / n_heads
            x, y = (middle * d, -0.4) if transposed else (d + 0.3, middle * t)
            angle = 0 if transposed else 90
            ax.text(x, y, f"head {head}", ha="center", va="center", rotation=angle)
        ax.set_title("view, transpose" if transposed else "view alone", pad=26)
        ax.set_xlabel("number")
    return fig


def influence_figure(panels: dict[str, Tensor]) -> Figure:
    """Draw influence matrices beside each other, each against its largest entry.

    Args:
        panels: For each title a matrix (T, S), from ``leaks.influence``.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(5.5, 2.4))
    for ax, (title, matrix) in zip(axes, panels.items(), strict=True):
        ends = ["0", *[""] * (len(matrix) - 2), f"{len(matrix) - 1}"]
        look = {"rows": ends, "columns": ends, "turn": 0, "square": True}
        heat_map(ax, matrix / matrix.max(), **look)
        ax.spines[["left", "bottom"]].set_visible(True)
        ax.set(title=title, xlabel="changed place")
    axes[0].set(ylabel="output")
    return fig
