"""Charts as figures of matplotlib, for a notebook and for what a page stores."""

from collections.abc import Sequence
from functools import singledispatch
from unicodedata import normalize

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnbook.course.kit.colours import (
    COLOURS,
    INK,
    PALE_GREY,
    SHADE,
    SKY,
    TEXT_COLOURS,
)
from attnbook.course.kit.explorers.charts import (
    Arrows,
    Axis,
    Bars,
    Chart,
    Grid,
    Lines,
    Map,
    Point,
    Stages,
)
from attnbook.course.kit.heat_maps import (
    PALE_LINES,
    columns_on_top,
    frame_cells,
    heat_map,
)

FILLS = COLOURS | {"ink": INK, "sky": SKY, "pale": PALE_GREY}
TEXTS = TEXT_COLOURS | {"ink": INK}
DOTS = 100  # pixels an inch
PALER = 0.5  # how much of its colour a weight has on which something is written


def figure_of(charts: Sequence[Chart], *, columns: int = 1) -> Figure:
    """Draw charts row by row; those of a last row that is shorter share its width."""
    places, heights = range(len(charts)), row_heights(charts, columns)
    fig, axes = plt.subplot_mosaic(
        [_row(places[i : i + columns], columns) for i in places[::columns]],
        figsize=(max(map(_width, charts)), sum(heights) / DOTS),
        width_ratios=[chart.share for chart in charts[:columns]],
        height_ratios=heights,
    )
    for place, chart in enumerate(charts):
        draw(chart, axes[place])
    return fig


def row_heights(charts: Sequence[Chart], columns: int) -> list[int]:
    """The height of each row of charts, pixels."""
    starts = range(0, len(charts), columns)
    return [max(chart.height for chart in charts[i : i + columns]) for i in starts]


def _row(places: Sequence[int], columns: int) -> list[int]:
    """Which chart takes each column."""
    return [places[i * len(places) // columns] for i in range(columns)]


def _width(chart: Chart) -> float:
    """Inches; a map grows with its columns."""
    return max(5.5, 2 + 0.27 * len(chart.columns)) if isinstance(chart, Map) else 5.5


@singledispatch
def draw(chart: Chart, ax: Axes) -> None:
    """Draw a chart."""
    raise NotImplementedError(type(chart))


@draw.register
def _(chart: Lines, ax: Axes) -> None:
    for line in chart.lines:
        ax.plot(line.y, color=FILLS[line.colour])
    for point in sorted(chart.points, key=lambda point: bool(point.letter)):
        _point(ax, point)
    _axis(ax, "x", chart.x)
    _axis(ax, "y", chart.y)
    ax.set_title(chart.title, loc="left")


@draw.register
def _(chart: Bars, ax: Axes) -> None:
    [series] = chart.series
    places = range(len(chart.names))
    ax.barh(places, series.values, 0.6, color=FILLS[series.colour], zorder=2)
    box = {"boxstyle": "square,pad=0.1", "fc": (1, 1, 1, 0.7), "lw": 0}
    look = {"textcoords": "offset points", "va": "center", "size": 12.5, "zorder": 3}
    for place, end, note in zip(places, series.values, chart.notes, strict=False):
        ax.annotate(note, (end, place), (4, 0), bbox=box, **look)
    _axis(ax, "x", chart.value)
    names = Axis("", -0.6, len(places) - 0.4, tuple(places), chart.names)
    _axis(ax, "y", names, TEXTS[chart.role])
    ax.invert_yaxis()
    ax.tick_params("y", length=0)
    if chart.value.low < 0:
        ax.axvline(0, color=INK, linewidth=1)
    ax.set_title(chart.title, loc="left")


@draw.register
def _(chart: Map, ax: Axes) -> None:
    names = {"rows": chart.rows, "columns": chart.columns, "turn": 60}
    cells = torch.tensor(np.array(chart.cells, dtype=float))  # None is not a number
    look = {"roles": chart.roles, **PALE_LINES}
    if chart.texts:
        look |= {"notes": chart.texts, "annot_kws": {"color": INK}, "vmax": 1 / PALER}
    ax.set_facecolor(SHADE)
    heat_map(ax, cells, **names, **look)
    frame_cells(ax, chart.frames, COLOURS["target"])
    columns_on_top(ax)
    ax.set_ylabel(chart.labels[0], color=TEXT_COLOURS[chart.roles[0]])
    ax.set_xlabel(chart.labels[1], color=TEXT_COLOURS[chart.roles[1]])


@draw.register
def _(chart: Grid, ax: Axes) -> None:
    ends = (COLOURS["target"], "white", COLOURS["source"])
    colours = LinearSegmentedColormap.from_list("signed", ends)
    look = {"cmap": colours, "vmin": -chart.most, "vmax": chart.most}
    names = {"rows": chart.rows, "roles": (chart.role, None)}
    heat_map(ax, torch.tensor(chart.cells), **names, **look)
    wide = len(chart.cells[0])
    frame = Rectangle((0, chart.chosen), wide, 1, fill=False, linewidth=2)
    ax.add_patch(frame).set(edgecolor=INK, clip_on=False)
    ax.set_xlabel(chart.label)


@draw.register
def _(chart: Stages, ax: Axes) -> None:
    tall = max(map(len, chart.columns))
    for column, (title, names) in enumerate(
        zip(chart.titles, chart.columns, strict=True)
    ):
        ax.text(column + 0.45, tall + 0.2, title, ha="center", va="bottom", size=11)
        for row, name in enumerate(names):
            lit = chart.lit == (column, row)
            fill = {"fc": COLOURS["key"] if lit else "white", "ec": PALE_GREY}
            ax.add_patch(Rectangle((column, row + 0.08), 0.9, 0.84, **fill))
            place = {"ha": "center", "va": "center", "size": 9.5}
            ax.text(column + 0.45, row + 0.5, name, **place)
    ax.set(xlim=(-0.05, len(chart.columns)), ylim=(0, tall + 1))
    ax.axis("off")


@draw.register
def _(chart: Arrows, ax: Axes) -> None:
    whole = range(-int(chart.reach), int(chart.reach) + 1)
    ax.set(xlim=(-chart.reach, chart.reach), ylim=(-chart.reach, chart.reach))
    ax.set(xticks=whole, yticks=whole, aspect="equal")
    for line in (ax.axhline, ax.axvline):
        line(0, color=PALE_GREY, linewidth=1, zorder=0)
    for arrow in chart.arrows:
        look = {"arrowstyle": "-|>", "color": FILLS[arrow.colour], "linewidth": 2}
        look |= {"shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
        ax.annotate("", (arrow.x, arrow.y), (0, 0), arrowprops=look)
        away = 1 + 0.4 / (np.hypot(arrow.x, arrow.y) or 1)
        letter, *index = normalize("NFKC", arrow.label)  # plain digits, not ₄
        text = f"${letter}_{''.join(index)}$" if index else f"${letter}$"
        place = {"ha": "center", "va": "center", "color": TEXTS[arrow.colour]}
        ax.text(away * arrow.x, away * arrow.y, text, **place)


def _point(ax: Axes, point: Point) -> None:
    look = {"color": FILLS[point.colour], "markeredgecolor": "white", "zorder": 3}
    look["clip_on"] = False  # one at an end of its axis is round, too
    ax.plot(point.x, point.y, "o", markersize=14 if point.letter else 7, **look)
    place = {"ha": "center", "va": "center_baseline", "size": 10, "zorder": 3}
    ax.text(point.x, point.y, point.letter, color="white", **place)


def _axis(ax: Axes, which: str, axis: Axis, colour: str = INK) -> None:
    """Ends, ticks and label, as the chart has them."""
    if axis.log:
        ax.set(**{f"{which}scale": "log"})
    ax.set(**{f"{which}lim": (axis.low, axis.high)})
    own = getattr(ax, f"{which}axis")
    own.set_ticks(list(axis.ticks), list(axis.marks()), color=colour)
    own.set_minor_locator(plt.NullLocator())
    own.set_label_text(axis.label, color=colour)
