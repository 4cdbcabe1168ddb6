"""Figures, tables and exercises of chapter 5."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from attnbook.core import results
from attnbook.nn.multi_head import merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention
from attnbook.pages.exercises.checking import register
from attnbook.pages.style import INK, TEXT_COLOURS, WEIGHTS
from attnbook.toy.tasks import TaskBatch, task_accuracy

LETTERS = "·abcdefghijklmnop"  # PAD and the 16 symbols of a puzzle
HEAD_COLOURS = ("#8CC8EC", "#F5E36B", "#D3D7DC", "#E5B8CF")


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
    stored = results.load("heads")
    print(f"{'heads':5}   {'last symbol, % right':24}   the one before, % right")
    for n_heads in sorted({run["heads"] for run in stored["runs"]}):
        runs = [run for run in stored["runs"] if run["heads"] == n_heads]
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
    runs = results.load("wrong_split")["runs"]
    print("split  symbols  right answers, %, by seed")
    for split, length in sorted({(run["split"], run["length"]) for run in runs}):
        shares = [
            100 * fmean(run["right"])
            for run in runs
            if (run["split"], run["length"]) == (split, length)
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
    ax.imshow(weights.numpy(), cmap=WEIGHTS, vmin=0, vmax=1)
    places = range(len(letters))
    for back in (1, 2):
        for i in places[back:]:
            corner = (i - back - 0.5, i - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, lw=0.7, ec="#8C959F"))
    ax.set_xticks(places, letters, color=TEXT_COLOURS["key"])
    ax.set_yticks(places, letters, color=TEXT_COLOURS["query"])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


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
        _grid(ax, owners(t, d, n_heads, transposed=transposed))
        for head in range(n_heads):
            middle = (head + 0.5) / n_heads
            above, beside = (middle * d - 0.5, -0.9), (d - 0.2, middle * t - 0.5)
            x, y = above if transposed else beside
            angle = 0 if transposed else 90
            ax.text(x, y, f"head {head}", ha="center", va="center", rotation=angle)
        ax.set_xlabel("number")
        ax.set_xticks(range(d))
    axes[0].set_title("view, transpose", pad=26)
    axes[1].set_title("view alone", pad=26)
    axes[0].set_yticks(range(t), words)
    return fig


def _grid(ax: Axes, cells: Tensor) -> None:
    """Draw :func:`owners`, each cell in its head's colour, its place written in it."""
    t, d, _ = cells.shape
    for i in range(t):
        for j in range(d):
            head, place = cells[i, j].tolist()
            corner = (j - 0.5, i - 0.5)
            colour = HEAD_COLOURS[head]
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white"))
            ax.text(j, i, place, ha="center", va="center", color=INK)
    ax.set(xlim=(-0.5, d - 0.5), ylim=(t - 0.5, -0.5))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def influence_figure(panels: dict[str, Tensor]) -> Figure:
    """Draw influence matrices beside each other, each against its largest entry.

    Args:
        panels: For each title a matrix (T, S), from ``leaks.influence``.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(5.5, 2.4))
    for ax, (title, matrix) in zip(axes, panels.items(), strict=True):
        ax.imshow((matrix / matrix.max()).numpy(), cmap=WEIGHTS, vmin=0, vmax=1)
        last = len(matrix) - 1
        ax.set(title=title, xticks=(0, last), yticks=(0, last))
        ax.set(xlabel="changed place")
        ax.tick_params(length=0)
    axes[0].set(ylabel="output")
    return fig


# Exercises


def _parameters(d_model: int, n_heads: int, bias: bool) -> int:
    return 4 * d_model * (d_model + bias)


register(
    "ex5_parameters",
    reference=_parameters,
    inputs=lambda: [(768, 12, True), (768, 24, True), (64, 2, False), (12, 3, True)],
    hint="Four maps from D numbers to D: W^Q, W^K, W^V of all heads, and one W^O.",
    mistakes=[
        (
            lambda d, h, bias: 3 * d * (d + bias),
            "W^O is missing.",
        ),
        (
            lambda d, h, bias: (3 * h + 1) * d * (d + bias),
            "A head's matrices are D × d_k, not D × D: H of them together make D × D.",
        ),
        (
            lambda d, h, bias: 4 * d * d,
            "With bias each map adds a vector of D numbers.",
        ),
        (
            lambda d, h, bias: 3 * (d // h) * (d // h + bias) + d * (d + bias),
            "Each head reads all D numbers of a place, not only d_k of them.",
        ),
    ],
)


def _heads() -> list[tuple[Tensor]]:
    g = torch.Generator().manual_seed(0)
    shapes = ((2, 2, 3, 4), (1, 3, 5, 2), (3, 2, 4, 1))
    return [(torch.randn(shape, generator=g),) for shape in shapes]


register(
    "ex5_merge",
    reference=merge_heads,
    inputs=_heads,
    hint="Bring the head's axis behind T, before d_k; then make one axis of the two.",
    mistakes=[
        (
            lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
            "The shape is right, the numbers are not: reshape lays places side by "
            "side. The heads must first go behind the places.",
        ),
        (
            lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
            "Your numbers of all heads alternate; each head's belong together.",
        ),
        (
            lambda heads: heads.transpose(1, 2),
            "The axes are in order; now make one of the last two.",
        ),
        (
            lambda heads: heads.sum(1),
            "You add the heads up. They are laid side by side.",
        ),
    ],
)


def _reach(i: int, length: int, n_heads: int) -> list[int]:
    block = length // n_heads
    first = i // block * block
    return [*range(first, first + block)]


register(
    "ex5_wrong_reach",
    reference=_reach,
    inputs=lambda: [(0, 12, 4), (9, 24, 3), (5, 12, 2), (3, 8, 8), (9, 10, 1)],
    hint="The wrong view gives head h the places h L/H … (h + 1) L/H - 1, whole.",
    mistakes=[
        (
            lambda i, length, h: [*range(length)],
            "That is the right split: every place. The wrong one cuts the places up.",
        ),
        (
            lambda i, length, h: [*range(i % h, length, h)],
            "A head gets neighbouring places, not every H-th.",
        ),
        (
            lambda i, length, h: [*range(i // h * h, min(i // h * h + h, length))],
            "There are H blocks of L/H places, not blocks of H places.",
        ),
    ],
)


def _qkv() -> list[tuple[Tensor, Tensor, Tensor, int]]:
    g = torch.Generator().manual_seed(0)
    shapes = ((2, 5, 8, 2), (1, 4, 4, 4), (2, 3, 6, 1))
    return [(*torch.randn(3, b, t, d, generator=g), h) for b, t, d, h in shapes]


def _heads_attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int) -> Tensor:
    """The function of the page: attention among the heads of one place."""
    b, t, d = q.shape
    q, k, v = (x.view(b, t, n_heads, d // n_heads) for x in (q, k, v))
    return attention(q, k, v).reshape(b, t, d)


def _attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int) -> Tensor:
    return merge_heads(attention(*(split_heads(x, n_heads) for x in (q, k, v))))


register(
    "ex5_find_the_bug",
    reference=_attend,
    inputs=_qkv,
    hint="Write down the shape of the scores. Which two axes should they have last?",
    mistakes=[
        (
            _heads_attend,
            "That is the function as it was. Its scores are (B, T, H, H): the heads of "
            "one place attend to each other, and no place to another.",
        ),
        (
            lambda q, k, v, h: attention(
                *(split_heads(x, h) for x in (q, k, v))
            ).reshape(q.shape),
            "The split is right; but the heads must go back behind the places before "
            "their parts are laid side by side.",
        ),
        (
            lambda q, k, v, h: attention(q, k, v),
            "That is one head of full width.",
        ),
    ],
)


def _heads_and_output() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(0)
    shapes = ((2, 2, 5, 4), (1, 3, 4, 2))
    return [
        (
            torch.randn(b, h, t, d, generator=g),
            torch.randn(h * d, h * d, generator=g),
        )
        for b, h, t, d in shapes
    ]


def _shares(heads: Tensor, w_o: Tensor) -> Tensor:
    return heads @ w_o.view(heads.shape[1], heads.shape[-1], -1)  # (B, H, T, D)


register(
    "ex5_head_shares",
    reference=_shares,
    inputs=_heads_and_output,
    hint="Rows h d_k … (h + 1) d_k - 1 of W^O belong to head h: multiply it by them.",
    mistakes=[
        (
            lambda heads, w: merge_heads(heads) @ w,
            "That is the sum over the heads; wanted are its H terms.",
        ),
        (
            lambda heads, w: (
                heads @ w.view(len(w), heads.shape[1], -1).permute(1, 2, 0)
            ),
            "You take columns of W^O; a head's part, a row, meets rows of W^O.",
        ),
        (
            lambda heads, w: heads @ w.view(-1, heads.shape[1], len(w)).transpose(0, 1),
            "Your head h takes every H-th row of W^O; its d_k rows are neighbours.",
        ),
    ],
)
