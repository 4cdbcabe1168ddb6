"""Figures of chapter 4."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.nn.scaled_dot_product import attention
from attnbook.pages.colours import (
    COLOURS,
    DARK_GREY,
    INK,
    TEXT_COLOURS,
    WEIGHTS,
    contrast,
    tint,
)
from attnbook.pages.curves import label_lines, logarithmic_x
from attnbook.pages.heat_maps import PALE_LINES, heat_map, numbers_from

# Matrices with their numbers


def draw_matrix(
    ax: Axes,
    cells: Tensor,
    left: float,
    top: float,
    role: str | None = None,
    fmt: str = ".1f",
) -> None:
    """Write a matrix into a drawing whose unit is a cell, y downwards.

    Args:
        ax: Where to.
        cells: (rows, columns).
        left: x of its left edge.
        top: y of its upper edge.
        role: The idea whose colour it has; "weights": more is darker; none: white.
        fmt: How a number is written.
    """
    for i, numbers in enumerate(cells.tolist()):
        for j, number in enumerate(numbers):
            face, ink = _cell_colours(number, role)
            corner = (left + j, top + i)
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=face, edgecolor="#C4C9D0"))
            text = f"{number:{fmt}}".replace("-", "−")
            place = (left + j + 0.5, top + i + 0.5)
            ax.text(*place, text, ha="center", va="center", color=ink)


def _cell_colours(number: float, role: str | None) -> tuple[str, str]:
    """The ground of a cell, and a colour to write on it."""
    if role == "weights":
        face = WEIGHTS(number)[:3]
        return face, "white" if contrast(face) > 21**0.5 else "black"
    return (tint(COLOURS[role]), TEXT_COLOURS[role]) if role else ("white", INK)


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Empty axes of so many cells, as wide as the page; cells are wider than high."""
    fig, ax = plt.subplots(figsize=(5.5, 0.7 * 5.5 * height / width))
    ax.set(xlim=(-0.03, width + 0.03), ylim=(height, 0))
    ax.axis("off")
    return fig, ax


def products_figure(q: Tensor, k: Tensor, v: Tensor, words: Sequence[str]) -> Figure:
    """Draw both products of attention with all numbers, each as a corner.

    A row of the left matrix and a column of the upper one meet in the cell that is
    their dot product.

    Args:
        q: Queries, (T, d_k).
        k: Keys, (S, d_k).
        v: Values, (S, d_v).
        words: The S words of the keys.
    """
    (t, d_k), (s, d_v) = q.shape, v.shape
    out, weights = attention(q, k, v, need_weights=True)  # (T, d_v), (T, S)
    gap, indent = 0.35, 2.1
    below = indent + d_k + gap  # where the row of queries begins
    second = below + t + 2.2  # and the second product
    bottom = second + s + gap
    right = d_k + gap
    fig, ax = _canvas(d_k + s + 2 * gap, bottom + t + 1.15)
    draw_matrix(ax, k.T, right, indent, "key")
    draw_matrix(ax, q, 0, below, "query")
    draw_matrix(ax, q @ k.T, right, below)
    draw_matrix(ax, weights, 0, bottom, "weights", ".2f")
    draw_matrix(ax, v, s + gap, second, "value")
    draw_matrix(ax, out, s + gap, bottom, "value", ".2f")
    at_keys = right + 0.5, indent - 0.2
    at_values = s + gap + d_v + 0.2, second + 0.5
    _name_places(ax, words, at_keys, at_values)
    scores = f"$QK^\\top$  ({t}, {s})"
    ax.text(right + s, below + t + 0.9, scores, ha="right")
    place, look = (s + gap + d_v, bottom + t + 0.9), {"color": TEXT_COLOURS["value"]}
    ax.text(*place, f"output  ({t}, {d_v})", ha="right", **look)
    for x, y, label, role in (
        (0, below - 0.3, f"$Q$  ({t}, {d_k})", "query"),
        (0, indent + 0.7, f"$K^\\top$  ({d_k}, {s})", "key"),
        (0, bottom - 0.3, f"weights  ({t}, {s})", None),
        (s + gap, second - 0.3, f"$V$  ({s}, {d_v})", "value"),
    ):
        ax.text(x, y, label, color=TEXT_COLOURS[role] if role else INK)
    return fig


def _name_places(
    ax: Axes,
    words: Sequence[str],
    at_keys: tuple[float, float],
    at_values: tuple[float, float],
) -> None:
    """Write the words above the keys' columns and beside the values' rows."""
    for j, word in enumerate(words):
        look = {"color": TEXT_COLOURS["key"], "rotation": 90}
        ax.text(at_keys[0] + j, at_keys[1], word, ha="center", **look)
        look = {"color": TEXT_COLOURS["value"], "va": "center"}
        ax.text(at_values[0], at_values[1] + j, word, **look)


def map_figure(weights: Tensor, words: Sequence[str]) -> Figure:
    """Draw the weights of a self-attention, (T, T), with all numbers.

    Args:
        weights: Row i: where word i looks.
        words: The words, which ask (left) and are asked (above).
    """
    fig, ax = plt.subplots(figsize=(5.5, 1.1 + 0.42 * len(words)))
    look = {"rows": words, "columns": words, "roles": ("query", "key"), "turn": 0}
    heat_map(ax, weights, notes=numbers_from(weights, 0, ".2f"), **look, **PALE_LINES)
    ax.xaxis.tick_top()
    ax.tick_params("x", length=0)
    return fig


# How open is a softmax at the start?

SCALES = {
    "no scale": lambda d: 1.0,
    "1/√d": lambda d: d**-0.5,
    "1/d": lambda d: 1 / d,
}
SCALE_COLOURS = {
    "no scale": COLOURS["target"],
    "1/√d": COLOURS["source"],
    "1/d": DARK_GREY,
}
WIDTHS = (4, 16, 64, 256, 1024)


def random_pairs(d_k: int, n_keys: int, draws: int) -> tuple[Tensor, Tensor]:
    """Random queries, (draws, 1, d_k), each with its own keys, (draws, n_keys, d_k).

    All numbers are independent, of mean 0 and variance 1.
    """
    g = torch.Generator().manual_seed(0)
    q = torch.randn(draws, 1, d_k, generator=g)
    return q, torch.randn(draws, n_keys, d_k, generator=g)


def random_scores(d_k: int, n_keys: int = 32, draws: int = 500) -> Tensor:
    """Dot products of random queries with their own random keys, (draws, n_keys)."""
    q, k = random_pairs(d_k, n_keys, draws)
    return (q @ k.mT).squeeze(1)


def draw_by_width(
    ax: Axes, widths: Sequence[int], measure: Callable[[int, float], float]
) -> None:
    """Draw a measure of d_k and scale against the width, a line for each scale.

    Args:
        ax: Where to.
        widths: Values of d_k.
        measure: Of d_k and the factor on the scores.
    """
    for name, scale in SCALES.items():
        heights = [measure(width, scale(width)) for width in widths]
        line = {"marker": "o", "color": SCALE_COLOURS[name], "label": name}
        ax.plot(widths, heights, **line)
    logarithmic_x(ax, widths)
    label_lines(ax)
    ax.set_xlabel("d = $d_k$, width of query and key")


def scale_figure(widths: Sequence[int] = WIDTHS) -> Figure:
    """Draw the largest of 32 attention weights at initialisation, by width."""
    fig, ax = plt.subplots(figsize=(5.5, 3))
    ax.set(ylabel="largest of 32 weights", ylim=(0, 1.02))
    draw_by_width(ax, widths, _mean_largest)
    return fig


def _mean_largest(d_k: int, scale: float) -> float:
    return (random_scores(d_k) * scale).softmax(-1).amax(-1).mean().item()
