"""Hard attention in chapter 3: how far single estimates of a gradient stray."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.pages.colours import COLOURS, INK

BINS = 90
WIDTH = 4.7  # inches: the figure stands in a fold, which is narrower on a phone


def print_gradients(exact: Tensor, estimates: dict[str, Tensor]) -> None:
    """Print the exact gradient, then mean and spread of each kind of estimate.

    Args:
        exact: The gradient, one number a key, (S,).
        estimates: For each name one estimate a row, (N, S).
    """
    width = max(map(len, [*estimates, "exact gradient"]))
    print(f"{'':{width}}", *(f"  key {k}" for k in range(1, len(exact) + 1)))
    print(_row("exact gradient", exact, width))
    samples = {len(rows) for rows in estimates.values()}
    print("mean of", " or ".join(f"{n:,}" for n in samples), "estimates")
    for name, rows in estimates.items():
        print(_row(name, rows.mean(0), width))
    print("standard deviation of one")
    for name, rows in estimates.items():
        print(_row(name, rows.std(0), width))


def _row(name: str, values: Tensor, width: int) -> str:
    return f"{name:{width}} " + " ".join(f"{value:7.3f}" for value in values.tolist())


def gradient_spread_figure(
    exact: Tensor, estimates: dict[str, Tensor], key: int
) -> Figure:
    """Draw where single estimates for one key fall, below each other, and their mean.

    Args:
        exact: The gradient, (S,).
        estimates: For each name one estimate a row, (N, S).
        key: The key, counted from 0.

    Returns:
        The figure: a panel for each name, with mean ± standard deviation; a dashed line
        at the exact value.
    """
    columns = {name: rows[:, key] for name, rows in estimates.items()}
    fig, axes = plt.subplots(
        len(columns), figsize=(WIDTH, 0.6 + 1.05 * len(columns)), sharex=True
    )
    low, high = _limits([*columns.values()])
    for ax, (name, column) in zip(axes, columns.items(), strict=True):
        _draw_spread(ax, column, low, high)
        ax.axvline(exact[key].item(), color=INK, linestyle="--", linewidth=1.5)
        ax.set_title(name, loc="left")
        ax.set_title(f"{column.mean():.2f} ± {column.std():.2f}", loc="right")
    axes[0].annotate(
        f"exact: {exact[key]:.2f}",
        (exact[key].item(), 1),
        xytext=(5, 0),
        textcoords="offset points",
        va="top",
    )
    axes[-1].set(xlabel=f"one estimate of the gradient, key {key + 1}")
    return fig


def _limits(columns: list[Tensor]) -> tuple[float, float]:
    """Limits that leave out one estimate in a hundred at either end, of the widest."""
    ends = torch.stack([c.quantile(c.new_tensor([0.01, 0.99])) for c in columns])
    low, high = ends[:, 0].min().item(), ends[:, 1].max().item()
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _draw_spread(ax: Axes, column: Tensor, low: float, high: float) -> None:
    """Bars of how many fall where, the highest 1; below them a mark at the mean."""
    # Their square root: one estimate in a hundred is a tenth as high, and to be seen.
    counts = torch.histc(column, BINS, low, high).sqrt()
    width = (high - low) / BINS
    left = [low + i * width for i in range(BINS)]
    heights = (counts / counts.max()).tolist()
    ax.bar(left, heights, width, align="edge", color=COLOURS["key"])
    ax.plot(column.mean().item(), -0.16, marker="^", markersize=9, color=INK)
    ax.set(xlim=(low, high), ylim=(-0.34, 1.05), yticks=[])
    ax.spines["left"].set_visible(False)
