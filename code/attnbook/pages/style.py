r"""One look for all figures: five colours with a meaning, one size of text.

Each of the five ideas of the course has one colour, in every plot, diagram and formula.
They are Okabe and Ito's (2008), which people with any colour vision can tell apart.
:data:`COLOURS` are for lines and areas. As text four of them are too pale on white, so
text and formulas take :data:`TEXT_COLOURS`, darker but the same hue; in a formula write

=======  =======================  =======  =======================
source   ``\textcolor{#0072B2}``  query    ``\textcolor{#A8487E}``
target   ``\textcolor{#B84A00}``  key      ``\textcolor{#8A5F00}``
value    ``\textcolor{#00795A}``
=======  =======================  =======  =======================

A page is at most as wide as a phone: a figure 5.5 inches wide is shrunk to about 350
pixels there, and 12.5 points of text to just over 11 pixels. Wider figures need larger
text, or panels below each other.
"""

from __future__ import annotations

from statistics import fmean

import matplotlib as mpl
from IPython import get_ipython
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

COLOURS = {
    "query": "#CC79A7",
    "key": "#E69F00",
    "value": "#009E73",
    "source": "#0072B2",
    "target": "#D55E00",
}
TEXT_COLOURS = {
    "query": "#A8487E",
    "key": "#8A5F00",
    "value": "#00795A",
    "source": "#0072B2",
    "target": "#B84A00",
}
INK = "#24292F"
"""Text and axes: not quite black."""

WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#FFFFFF", "#C6DFF0", "#6BAED6", "#0072B2", "#00375C"]
)
"""For attention weights: 0 is white, more is darker, so it reads in grey as well."""

SETTINGS = {
    "figure.figsize": (5.5, 3.2),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.hashsalt": "attnbook",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same everywhere
    "font.size": 12.5,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.labelsize": "medium",
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "legend.fontsize": "medium",
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": mpl.cycler(
        color=[COLOURS[k] for k in ("source", "target", "value", "query", "key")]
    ),
    "lines.linewidth": 2,
    "image.cmap": "cividis",
}


def use_style() -> None:
    """Set matplotlib to the look of the course; in a notebook, to sharp pictures."""
    mpl.rcParams.update(SETTINGS)
    shell = get_ipython()
    if shell is not None:
        _sharpen(shell)


def _sharpen(shell) -> None:
    """Two pixels for one, and no cropping: pictures are as wide as their figure."""
    from matplotlib_inline.config import InlineBackend

    backend = InlineBackend.instance(parent=shell)
    backend.shell = shell
    backend.print_figure_kwargs = {"bbox_inches": None}
    backend.figure_formats = {"retina"}


def text_colour(colour: str) -> str:
    """A shade dark enough for text on white: the one that :data:`TEXT_COLOURS` names.

    Another colour is darkened until its contrast is 4.5, the least that WCAG allows.

    Args:
        colour: A colour that matplotlib knows, in any notation.

    Returns:
        The colour as hexadecimal digits.
    """
    for role, named in COLOURS.items():
        if to_hex(colour) == to_hex(named):
            return TEXT_COLOURS[role]
    shade = to_rgb(colour)
    while contrast(shade) < 4.5:
        shade = tuple(0.97 * channel for channel in shade)
    return to_hex(shade).upper()


def contrast(colour: str | tuple[float, float, float]) -> float:
    """Contrast of a colour with white, from 1 to 21 (WCAG 2.2)."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in to_rgb(colour)
    )
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def label_lines(ax: Axes, gap: float = 6) -> None:
    """Write each line's label at its right end, in its colour, instead of a legend.

    Labels that would cover each other are moved apart. Call it last, when the limits
    of the axes are final.

    Args:
        ax: Axes with labelled lines.
        gap: Points between the end of a line and its label.

    Raises:
        ValueError: If no line has a label.
    """
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    if not lines:
        raise ValueError("no line has a label: draw with ax.plot(..., label=...)")
    ax.figure.draw_without_rendering()  # the layout decides where a line ends
    points_per_pixel = 72 / ax.figure.dpi
    ends = [line.get_xydata()[-1] for line in lines]
    heights = [ax.transData.transform(end)[1] * points_per_pixel for end in ends]
    size = mpl.rcParams["font.size"]
    floor = ax.bbox.y0 * points_per_pixel + size / 2  # above the axis and its numbers
    apart = spread(heights, 1.15 * size, floor)
    for line, end, old, new in zip(lines, ends, heights, apart, strict=True):
        ax.annotate(
            line.get_label(),
            end,
            xytext=(gap, new - old),
            textcoords="offset points",
            va="center",
            color=text_colour(line.get_color()),
            annotation_clip=False,
        )


def spread(heights: list[float], distance: float, floor: float) -> list[float]:
    """Move heights apart, as little as possible, until neighbours keep a distance.

    Args:
        heights: Wished heights, in any order.
        distance: What must lie between two neighbours.
        floor: The least height allowed.

    Returns:
        The new heights, in the order given.
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
