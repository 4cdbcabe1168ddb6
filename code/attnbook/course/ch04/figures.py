"""Figures of chapter 4."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.analysis.random_attention import random_scores
from attnbook.course.kit.colours import (
    COLOURS,
    DARK_GREY,
    INK,
    PALE_GREY,
    TEXT_COLOURS,
    WEIGHTS,
    contrast,
    tint,
)
from attnbook.course.kit.curves import label_lines, logarithmic_x
from attnbook.course.kit.heat_maps import PALE_LINES, colour_bar, heat_map, numbers_from
from attnbook.nn.scaled_dot_product import attention

# Dot products in the plane

PLANE_QUERY = (2.0, 0.0)
PLANE_KEYS = ((1.0, -0.4), (1.5, 1.6), (0.0, -1.2), (-1.0, 0.8))


def draw_arrow(
    ax: Axes, tip: Sequence[float], role: str, label: str = "", gap: float = 0
) -> None:
    """Draw a vector as an arrow from the origin, and its label past the tip."""
    look = {"color": COLOURS[role], "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", **look})
    if label:
        at = [x * (1 + gap / math.hypot(*tip)) for x in tip]
        ax.text(*at, label, ha="center", va="center", color=TEXT_COLOURS[role])


def dot_product_figure() -> Figure:
    """Draw a query, four keys, and the part of each key in the query's direction."""
    fig, ax = plt.subplots(figsize=(5.5, 3.9))
    ax.set(xlim=(-1.75, 2.75), ylim=(-1.4, 1.9), aspect="equal")
    ax.axis("off")
    ax.axhline(0, color=PALE_GREY, linewidth=1, zorder=0)
    for j, (x, y) in enumerate(PLANE_KEYS, start=1):
        score = PLANE_QUERY[0] * x + PLANE_QUERY[1] * y
        ax.plot([x, x], [y, 0], "--", color=DARK_GREY, linewidth=1.2, zorder=0)
        ax.plot(x, 0, "o", color=DARK_GREY, markersize=5)
        draw_arrow(ax, (x, y), "key")
        text = f"$k_{j}$: score {score:g}".replace("-", "−")
        at = (x, y + math.copysign(0.15, y)) if x else (0.1, y)
        look = {"ha": "center" if x else "left", "color": TEXT_COLOURS["key"]}
        ax.text(*at, text, va="center", **look)
    draw_arrow(ax, PLANE_QUERY, "query", "$q$", 0.15)
    return fig


# Matrices with their numbers


def draw_matrix(
    ax: Axes,
    cells: Tensor,
    left: float,
    top: float,
    role: str | None = None,
    fmt: str = ".1f",
) -> None:
    """Write a matrix into a drawing whose unit is a cell, y downwards."""
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
    their dot product. The names of the queries stand left of their rows.
    """
    (t, d_k), (s, d_v) = q.shape, v.shape
    out, weights = attention(q, k, v, need_weights=True)  # (T, d_v), (T, S)
    gap, left, indent = 0.35, 0.75, 2.1
    below = indent + d_k + gap  # where the row of queries begins
    second = below + t + 2.3  # and the second product
    bottom = second + s + gap
    keys, values = left + d_k + gap, left + s + gap  # where their columns begin
    fig, ax = _canvas(max(keys + s, values + d_v), bottom + t + 1.15)
    draw_matrix(ax, k.T, keys, indent, "key")
    draw_matrix(ax, q, left, below, "query")
    draw_matrix(ax, q @ k.T, keys, below)
    draw_matrix(ax, weights, left, bottom, "weights", ".2f")
    draw_matrix(ax, v, values, second, "value")
    draw_matrix(ax, out, values, bottom, "value", ".2f")
    for j, word in enumerate(words):
        name = {"color": TEXT_COLOURS["key"], "rotation": 90, "ha": "center"}
        ax.text(keys + j + 0.5, indent - 0.2, word, **name)
        name = {"color": TEXT_COLOURS["value"], "va": "center", "ha": "right"}
        ax.text(values - 0.15, second + j + 0.5, word, **name)
    for i in range(t):
        for top in (below, bottom):
            name = {"color": TEXT_COLOURS["query"], "va": "center", "ha": "right"}
            ax.text(left - 0.15, top + i + 0.5, f"$q_{i + 1}$", **name)
    for x, y, label, role, align in (
        (left, below - 0.3, f"$Q$  ({t}, {d_k})", "query", "left"),
        (keys - 0.15, indent + 0.7, f"$K^\\top$  ({d_k}, {s})", "key", "right"),
        (keys + s, below + t + 0.85, f"scores $QK^\\top$  ({t}, {s})", "", "right"),
        (left, bottom - 0.3, f"weights  ({t}, {s})", "", "left"),
        (values + d_v, second - 0.3, f"$V$  ({s}, {d_v})", "value", "right"),
        (values + d_v, bottom + t + 0.85, f"output  ({t}, {d_v})", "value", "right"),
    ):
        ax.text(x, y, label, ha=align, color=TEXT_COLOURS[role] if role else INK)
    _arrow_down(ax, keys + 0.3, below + t + 0.15, bottom - 0.1, d_k)
    return fig


def _arrow_down(ax: Axes, x: float, start: float, end: float, d_k: int) -> None:
    """Lead from the scores to the weights, and tell what is done on the way."""
    look = {"arrowstyle": "-|>", "color": INK}
    ax.annotate("", (x, end), (x, start), arrowprops=look)
    text = f"divide by √{d_k},\nsoftmax of\neach row"
    ax.text(x - 0.3, (start + end) / 2, text, ha="right", va="center")


def map_figure(weights: Tensor, words: Sequence[str]) -> Figure:
    """Draw the weights of a self-attention, (T, T), with all numbers."""
    fig, ax = plt.subplots(figsize=(5.5, 2.2 + 0.42 * len(words)))
    look = {"rows": words, "columns": words, "roles": ("query", "key"), "turn": 0}
    notes = numbers_from(weights, 0, ".2f")
    titles = ("query", "key")
    heat_map(ax, weights, notes=notes, titles=titles, **look, **PALE_LINES)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params("x", length=0)
    colour_bar(ax, "attention weight")
    return fig


# The largest weight at initialisation

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


def draw_by_width(
    ax: Axes, widths: Sequence[int], measure: Callable[[int, float], float]
) -> None:
    """Draw a measure of d_k and scale against the width, a line for each scale."""
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
