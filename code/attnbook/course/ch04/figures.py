"""Figures of chapter 4."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.course.kit.colours import (
    COLOURS,
    INK,
    TEXT_COLOURS,
    WEIGHTS,
    contrast,
    tint,
)
from attnbook.course.kit.curves import draw_arrow
from attnbook.course.kit.heat_maps import PALE_LINES, colour_bar, frame_cells, heat_map
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import stored_runs
from attnbook.nn.scaled_dot_product import attention
from attnbook.toy import FEATURES, SENTENCE, STATES

# Dot products in the plane

PLANE_QUERY = (2.0, 0.0)
PLANE_KEYS = ((1.0, -0.4), (1.5, 1.6), (0.0, -1.2), (-1.0, 0.8))


def lengths_figure() -> Figure:
    """Draw a query and two keys: one nearer in direction, a longer one that wins."""
    fig, ax = plt.subplots(figsize=(5.5, 3.1))
    draw_arrow(ax, PLANE_QUERY, "query")
    ax.text(PLANE_QUERY[0] + 0.06, 0, "$q$", color=TEXT_COLOURS["query"], va="center")
    for number, (x, y) in enumerate(PLANE_KEYS[:2], 1):
        draw_arrow(ax, (x, y), "key")
        ax.plot([x, x], [0, y], ":", color=INK, lw=1.5)  # down to the query's line
        score = PLANE_QUERY[0] * x
        label = f"$k_{number}$: score {PLANE_QUERY[0]:.0f} · {x:.1f} = {score:.1f}"
        ax.text(x + 0.1, y, label, color=TEXT_COLOURS["key"], va="center")
    ax.set(xlim=(-0.1, 3.7), ylim=(-0.7, 1.9), aspect="equal")
    ax.axis("off")
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
    wide, high = max(keys + s, values + d_v), bottom + t + 1.15  # in cells
    fig, ax = plt.subplots(figsize=(5.5, 0.7 * 5.5 * high / wide))
    ax.set(xlim=(-0.03, wide + 0.03), ylim=(high, 0))
    ax.axis("off")
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


def features_table() -> Table:
    """The hand-made features of chapter 2's sentence, a row for each word."""
    columns = ["word", *(Column(name, digits=1) for name in FEATURES)]
    rows = zip(SENTENCE, STATES.tolist(), strict=True)
    return table(columns, [(word, *features) for word, features in rows])


# One sentence, four times


def words_figure(weights: Tensor, words: Sequence[str]) -> Figure:
    """Draw the weights of a sentence, (T, T), the largest of each row framed."""
    fig, ax = plt.subplots(figsize=(5.5, 5.1))
    draw_words(ax, weights, words, titles=("query", "key"))
    ax.set_title(f"mean of the framed weights: {mean_largest(weights):.2f}", loc="left")
    colour_bar(ax, "attention weight")
    return fig


def four_figure(pictures: Mapping[str, Tensor], words: Sequence[str]) -> Figure:
    """Draw four times the weights of one sentence, by title, two in a row.

    After each title comes the mean of the framed weights.
    """
    fig, axes = plt.subplots(2, 2, figsize=(5.5, 6.2), sharex=True, sharey=True)
    for ax, (title, weights) in zip(axes.flat, pictures.items(), strict=True):
        draw_words(ax, weights, words)
        ax.set_title(f"{title}: {mean_largest(weights):.2f}", loc="left")
    colour_bar([*axes.flat], "attention weight")
    return fig


def mean_largest(weights: Tensor) -> float:
    """The largest weight of a row, (T, S), on average."""
    return weights.amax(-1).mean().item()


def draw_words(
    ax: Axes,
    weights: Tensor,
    words: Sequence[str],
    titles: tuple[str, str] = ("", ""),
) -> None:
    """Draw a map of weights, (T, T), and frame the largest weight of each row."""
    look = {"rows": words, "columns": words, "roles": ("query", "key")}
    heat_map(ax, weights, titles=titles, **look, **PALE_LINES)
    frame_cells(ax, enumerate(weights.argmax(-1).tolist()), INK, width=1.2)


# The trained heads, counted


def adjective_table() -> Table:
    """How often an adjective prefers its noun: one head, the others, chance."""
    [found] = stored_runs("adjective_heads", translator="shipped")
    at = {(of["layer"], of["head"]): of for of in found["heads"]}
    chosen = at.pop((0, 3))
    others = max(of["noun"] for of in at.values())
    share = 100 / found["counted"]["noun"]
    ahead = 100 * chosen["next"] / found["counted"]["next"]
    best_other = "the best of the encoder's 15 other heads"
    rows = [
        ("adjective", "its noun", "this head", share * chosen["noun"]),
        ("adjective", "its noun", best_other, share * others),
        ("adjective", "its noun", "a word picked at random", 100 * found["random"]),
        ("any word", "the next word", "this head", ahead),
    ]
    hits = Column("largest weight on it", "% of cases")
    return table(["from", "to", "whose weights", hits], rows)
