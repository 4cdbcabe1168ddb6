"""Figures of chapter 5: maps of heads, and two ways to split features."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.analysis.word_maps import SPACE
from attnbook.course.kit.colours import DARK_GREY
from attnbook.course.kit.heat_maps import (
    PALE_LINES,
    WHITE_LINES,
    colour_bar,
    frame_cells,
    heat_map,
)
from attnbook.nn.multi_head import split_heads

LETTERS = "·abcdefghijklmnop"  # PAD and the 16 symbols of the task
HEAD_COLOURS = ListedColormap(["#8CC8EC", "#F5E36B", "#D3D7DC", "#E5B8CF"])
QUERY_AND_KEY = {"roles": ("query", "key"), "titles": ("query", "key")}


# Maps of the task with two questions


def spell(ids: Tensor) -> list[str]:
    """Ids, (L,), as letters, and a dot where there is no symbol."""
    return [LETTERS[i] for i in ids.tolist()]


def task_maps_figure(one: Tensor, two: Tensor, ids: Tensor) -> Figure:
    """Draw the weights of one head, and of two, on one sequence."""
    titles = ("one head", "head 1 of two", "head 2 of two")
    fig, axes = plt.subplots(1, 3, figsize=(5.5, 2.8))
    for ax, weights, title in zip(axes, (*one, *two), titles, strict=True):
        task_map(ax, weights, ids)
        ax.set_title(title)
    for ax in axes[1:]:
        ax.set(yticks=[], ylabel="")
    colour_bar(axes, "weight, %")
    return fig


def task_map(ax: Axes, weights: Tensor, ids: Tensor) -> None:
    """Draw the weights of a head; frames mark the two symbols that are asked for."""
    names = {"rows": spell(ids), "columns": spell(ids), **QUERY_AND_KEY}
    heat_map(ax, 100 * weights, square=True, turn=0, vmax=100, **names, **PALE_LINES)
    asked = [(i, i - back) for i in range(2, len(ids)) for back in (1, 2)]
    frame_cells(ax, asked, DARK_GREY, 0.8)
    veil = Rectangle((0, 0), len(ids), 2, facecolor="white", alpha=0.7, zorder=3)
    ax.add_patch(veil)  # a question without an answer


# Maps of the translator


def translator_heads_figure(weights: Tensor, tokens: Sequence[str]) -> Figure:
    """Draw the self-attention of four heads on one sentence."""
    words = [token.replace(SPACE, "") for token in tokens]
    fig, axes = plt.subplots(2, 2, figsize=(5.5, 6.6), layout="compressed")
    for number, (ax, cells) in enumerate(zip(axes.flat, weights, strict=True), 1):
        names = {"rows": words, "columns": words, **QUERY_AND_KEY}
        heat_map(ax, 100 * cells, square=True, vmax=100, **names, **PALE_LINES)
        ax.set_title(f"head {number}")
        ax.label_outer()
    colour_bar([*axes.flat], "weight, %")
    return fig


# Splitting, correctly and wrongly


def owners(t: int, d: int, n_heads: int, *, transposed: bool) -> Tensor:
    """In which head, and at which of its positions, does each feature land?"""
    numbers = torch.arange(t * d).view(1, t, d)
    if transposed:
        heads = split_heads(numbers, n_heads)[0]  # (H, T, d_k)
    else:
        heads = numbers.view(n_heads, t, d // n_heads)  # the mistake
    found = torch.empty(t * d, 2, dtype=torch.long)
    for head in range(n_heads):
        for position in range(t):
            found[heads[head, position]] = torch.tensor([head, position])
    return found.view(t, d, 2)


def split_figure(words: Sequence[str], d: int = 4, n_heads: int = 2) -> Figure:
    """Draw which head gets which feature of which word, correctly and wrongly split.

    Heads, features and positions are counted from 1.
    """
    t = len(words)
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(5.5, 3.9))
    for ax, transposed in zip(axes, (True, False), strict=True):
        heads, positions = owners(t, d, n_heads, transposed=transposed).unbind(-1)
        look = {"cmap": HEAD_COLOURS, "vmax": HEAD_COLOURS.N, **WHITE_LINES}
        names = {"rows": words, "columns": [str(n + 1) for n in range(d)]}
        heat_map(ax, heads, turn=0, notes=positions + 1, **names, **look)
        for head in range(n_heads):
            middle = (head + 0.5) / n_heads
            x, y = (middle * d, -0.4) if transposed else (d + 0.3, middle * t)
            angle = 0 if transposed else 90
            label = f"head {head + 1}"
            ax.text(x, y, label, ha="center", va="center", rotation=angle)
        ax.set_title("view, transpose" if transposed else "view alone", pad=26)
        ax.set_xlabel("feature")
    return fig
