"""Curves and arrows: bands over seeds, labels at line ends, logarithmic axes."""

from collections.abc import Sequence
from statistics import fmean

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes

from attnbook.course.kit.colours import COLOURS, text_colour


def band(
    ax: Axes,
    xs: Sequence[float],
    runs: Sequence[Sequence[float]],
    color: str,
    **look: object,
) -> None:
    """Draw the mean of some runs, and around it the range from least to greatest.

    Args:
        ax: Where to.
        xs: What all runs were measured at.
        runs: For each run, a seed mostly, one number at each x.
        color: Of the line; the range is a paler area.
        look: More of the line: ``label``, ``marker`` …
    """
    sns.lineplot(
        x=[x for _ in runs for x in xs],
        y=[y for run in runs for y in run],
        errorbar=("pi", 100),  # all of them: the range
        err_kws={"linewidth": 0},
        markeredgecolor=color,
        legend=False,
        color=color,
        ax=ax,
        **look,
    )


def draw_arrow(ax: Axes, tip: Sequence[float], role: str) -> None:
    """Draw a vector as an arrow from the origin."""
    look = {"color": COLOURS[role], "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", **look})


def logarithmic_x(ax: Axes, ticks: Sequence[int]) -> None:
    """Make the x axis logarithmic, with these ticks and no others."""
    ax.set_xscale("log", base=2)
    ax.set(xticks=ticks, xticklabels=ticks)
    ax.minorticks_off()


def label_lines(ax: Axes) -> None:
    """Write each line's label at its right end, in its colour, instead of a legend.

    Labels that would cover each other are moved apart. Call it last, when the limits
    of the axes are final.
    """
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    ax.figure.draw_without_rendering()  # the layout decides where a line ends
    points_per_pixel = 72 / ax.figure.dpi
    ends = [line.get_xydata()[-1] for line in lines]
    heights = [ax.transData.transform(end)[1] * points_per_pixel for end in ends]
    size = mpl.rcParams["font.size"]
    floor = ax.bbox.y0 * points_per_pixel + size / 2  # above the axis and its numbers
    apart = push_apart(heights, 1.15 * size, floor)
    for line, end, old, new in zip(lines, ends, heights, apart, strict=True):
        ax.annotate(
            line.get_label(),
            end,
            xytext=(6, new - old),  # points
            textcoords="offset points",
            va="center",
            color=text_colour(line.get_color()),
            annotation_clip=False,
        )


def push_apart(heights: list[float], distance: float, floor: float) -> list[float]:
    """Move heights apart, as little as possible, until neighbours keep a distance.

    None goes below the floor.
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    # Less its share of the distance each height must only not be below the one before:
    # pool those that are, and give all of a pool their mean.
    pools: list[list[float]] = []
    for rank, i in enumerate(order):
        pools.append([heights[i] - rank * distance])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    levels = [max(floor, fmean(pool)) for pool in pools for _ in pool]
    new = {i: levels[rank] + rank * distance for rank, i in enumerate(order)}
    return [new[i] for i in range(len(heights))]
