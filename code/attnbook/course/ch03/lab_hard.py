"""Hard attention on laboratory page 3: how far single gradient estimates stray."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.course.kit.colours import INK, SKY
from attnbook.course.kit.html_tables import Column, Table, table

BINS = 90


def gradients_table(exact: Tensor, estimates: dict[str, Tensor]) -> Table:
    """Show the exact gradient, then mean and standard deviation of each estimate."""
    heads = [Column(str(k), "", "score of position", 3) for k in range(len(exact))]
    groups = {
        "mean of all estimates": [("exact gradient", *exact.tolist())],
        "standard deviation of one estimate": [],
    }
    for name, rows in estimates.items():
        for group, found in zip(
            groups.values(), (rows.mean(0), rows.std(0)), strict=True
        ):
            group.append((name, *found.tolist()))
    return table(["estimate", *heads], groups)


def gradient_spread_figure(
    exact: Tensor, estimates: dict[str, Tensor], position: int
) -> Figure:
    """Draw where single estimates for one score fall, and their mean."""
    columns = {name: rows[:, position] for name, rows in estimates.items()}
    fig, axes = plt.subplots(
        len(columns), figsize=(5.5, 0.6 + 1.05 * len(columns)), sharex=True
    )
    low, high = _limits([*columns.values()])
    for ax, (name, column) in zip(axes, columns.items(), strict=True):
        _draw_spread(ax, column, low, high)
        ax.axvline(exact[position].item(), color=INK, linestyle="--", linewidth=1.5)
        ax.set_title(name, loc="left")
        ax.set_title(f"{column.mean():.2f} ± {column.std():.2f}", loc="right")
    axes[0].annotate(
        f"exact: {exact[position]:.2f}",
        (exact[position].item(), 1),
        xytext=(5, 0),
        textcoords="offset points",
        va="top",
    )
    axes[-1].set(xlabel=f"one estimate of the gradient, position {position}")
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
    ax.bar(left, heights, width, align="edge", color=SKY)
    ax.plot(column.mean().item(), -0.16, marker="^", markersize=9, color=INK)
    ax.set(xlim=(low, high), ylim=(-0.34, 1.05), yticks=[])
    ax.spines["left"].set_visible(False)
