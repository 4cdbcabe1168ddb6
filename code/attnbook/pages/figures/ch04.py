"""Figures and tables of chapter 4."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.core import results
from attnbook.experiments.look_up import SCALES as FACTORS
from attnbook.experiments.look_up import AdditiveRead
from attnbook.nn.scaled_dot_product import attention
from attnbook.pages.colours import (
    COLOURS,
    DARK_GREY,
    INK,
    SKY,
    TEXT_COLOURS,
    WEIGHTS,
    contrast,
    tint,
)
from attnbook.pages.curves import band, label_lines, logarithmic, logarithmic_x
from attnbook.pages.heat_maps import PALE_LINES, heat_map, numbers_from
from attnbook.pages.tables import mean_and_range, row, stored_runs

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


def query_gradients(
    d_k: int, scale: float, n_keys: int = 32, draws: int = 500
) -> Tensor:
    """How large the derivative of all weights by their random query is.

    Args:
        d_k: Width of queries and keys.
        scale: What the scores are multiplied by.
        n_keys: Keys S of each query.
        draws: Queries.

    Returns:
        The root of the sum of squares of each query's ∂a/∂q, (draws,).
    """
    q, k = random_pairs(d_k, n_keys, draws)
    weights = (scale * q @ k.mT).softmax(-1)  # (draws, 1, S)
    # Σ_j a_i (δ_ij - a_j) k_j is a_i times what k_i has more than the mean of the keys.
    jacobian = scale * weights.mT * (k - weights @ k)  # (draws, S, d_k)
    return jacobian.square().sum((-2, -1)).sqrt()


def scale_figure(widths: Sequence[int] = WIDTHS) -> Figure:
    """Draw what three scales make of random scores.

    Above for one query of width 64 the weights of 12 keys; in the middle the largest
    of 32 weights, mean over queries, and below the derivative by the query, median.
    """
    fig = plt.figure(figsize=(5.5, 7.2))
    grid = fig.add_gridspec(3, 3, height_ratios=(0.8, 1, 1))
    one = random_scores(64, n_keys=12, draws=1)[0]
    for column, (name, scale) in enumerate(SCALES.items()):
        ax = fig.add_subplot(grid[0, column])
        weights = (one * scale(64)).softmax(-1)
        ax.bar(range(12), weights.tolist(), color=SCALE_COLOURS[name])
        ax.set(title=name, ylim=(0, 1), xticks=[], yticks=(0, 1))
        if column:
            ax.set_yticklabels([])
    largest, size = (fig.add_subplot(grid[row, :]) for row in (1, 2))
    largest.set(title="largest of 32 weights", ylim=(0, 1.02))
    size.set(title="size of ∂a/∂q, median", yscale="log", ylim=(0.003, 3))
    size.yaxis.set_major_formatter("{x:g}")
    _draw_by_width(largest, widths, _mean_largest)
    _draw_by_width(size, widths, lambda *at: query_gradients(*at).median().item())
    size.set_xlabel("d = $d_k$, width of query and key")
    return fig


def _mean_largest(d_k: int, scale: float) -> float:
    return (random_scores(d_k) * scale).softmax(-1).amax(-1).mean().item()


def _draw_by_width(
    ax: Axes, widths: Sequence[int], measure: Callable[[int, float], float]
) -> None:
    """Draw a measure of d_k and scale against the width, a line for each scale."""
    for name, scale in SCALES.items():
        heights = [measure(width, scale(width)) for width in widths]
        line = {"marker": "o", "color": SCALE_COLOURS[name], "label": name}
        ax.plot(widths, heights, **line)
    logarithmic_x(ax, widths)
    label_lines(ax)


@torch.no_grad()
def additive_start(
    d: int, v_std: float | None = None, n_keys: int = 64, draws: int = 20
) -> Tensor:
    """Scores of the untrained additive score for random queries and keys.

    Args:
        d: Width of queries, keys and the hidden layer.
        v_std: Standard deviation of v; PyTorch's own start if not given.
        n_keys: Keys S.
        draws: How many times weights, 50 queries and the keys are drawn.

    Returns:
        (draws · 50, S). The generator of the caller is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        scores = []
        for _ in range(draws):
            score = AdditiveRead(d, v_std).score
            query, keys = torch.randn(1, 50, d), torch.randn(1, n_keys, d)
            scores.append(score(query, score.prepare(keys))[0])
    return torch.cat(scores)


# What do models learn with other scales?

LOOK_UP_COLOURS = {
    "1": COLOURS["target"],
    "8/√d": COLOURS["key"],
    "2/√d": SKY,
    "1/√d": COLOURS["source"],
    "0.5/√d": COLOURS["value"],
    "1/d": DARK_GREY,
    "additive": COLOURS["query"],
    "additive, large v": COLOURS["query"],
}


def look_up_shares(d_k: int, score: str) -> list[list[float]]:
    """Right answers in per cent, stored: one row a seed, one column a time."""
    runs = stored_runs("look_up", d_k=d_k, score=score)
    return [[100 * share for share in run["right"]] for run in runs]


def print_look_up(after: int, scores: Sequence[str] = tuple(FACTORS)) -> None:
    """Print right answers after some steps: mean (lowest–highest) over seeds."""
    stored = results.load("look_up")
    column = stored["steps"].index(after)
    widths = sorted({run["d_k"] for run in stored["runs"]})
    columns = 21, 14
    print(row(f"after {after} steps, %", [f"d_k = {w}" for w in widths], columns))
    for score in scores:
        shares = (
            [seed[column] for seed in look_up_shares(width, score)] for width in widths
        )
        print(row(score, (mean_and_range(x, ".0f") for x in shares), columns))


def look_up_figure(scores: Sequence[str], widths: Sequence[int]) -> Figure:
    """Draw right answers by steps: mean over seeds and their range, a panel a width."""
    steps = results.load("look_up")["steps"]
    size = (5.5, 0.6 + 2.5 * len(widths))
    fig, axes = plt.subplots(len(widths), sharex=True, squeeze=False, figsize=size)
    for ax, width in zip(axes[:, 0], widths, strict=True):
        for score in scores:
            shares = look_up_shares(width, score)
            band(ax, steps, shares, color=LOOK_UP_COLOURS[score], label=score)
        ax.set(title=f"$d_k$ = {width}", ylabel="right, %", ylim=(0, 103))
        label_lines(ax)
    axes[-1, 0].set_xlabel("steps")
    return fig


# What does the fused kernel save?

FORMS = {"readable": COLOURS["target"], "fused": COLOURS["source"]}


def fused_costs(form: str) -> tuple[list[int], list[float], list[float]]:
    """Stored: lengths n, MB held at most, and milliseconds."""
    runs = stored_runs("fused_cost", form=form)
    lengths = [run["n"] for run in runs]
    megabytes = [run["bytes"] / 1e6 for run in runs]
    return lengths, megabytes, [1000 * run["seconds"] for run in runs]


def print_fused_costs() -> None:
    """Print memory and time of both forms by length."""
    stored = results.load("fused_cost")
    print(f"{stored['heads']} heads, d_k = {stored['d_k']}; {stored['machine']}")
    print("            peak MB        ms")
    print("   n  readable  fused  readable  fused")
    (lengths, *slow), (_, *fast) = map(fused_costs, FORMS)
    for n, big, long, small, short in zip(lengths, *slow, *fast, strict=True):
        print(f"{n:4} {big:9.1f} {small:6.1f} {long:9.1f} {short:6.1f}")


def fused_figure() -> Figure:
    """Draw memory and time of both forms against the length, axes logarithmic."""
    fig, axes = plt.subplots(2, sharex=True, figsize=(5.5, 5.2))
    for form, colour in FORMS.items():
        lengths, *costs = fused_costs(form)
        for ax, cost in zip(axes, costs, strict=True):
            ax.plot(lengths, cost, marker="o", color=colour, label=form)
    for ax, label in zip(axes, ("peak MB", "processor time, ms"), strict=True):
        logarithmic(ax, lengths)
        ax.set_ylabel(label)
        label_lines(ax)
    axes[-1].set_xlabel("places n")
    return fig
