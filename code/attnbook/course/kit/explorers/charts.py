"""What an explorer draws, as data: a few kinds of charts.

A chart holds all that is needed to draw it. In a notebook matplotlib does so
(``drawn``), on the published page ``book/_static/live/charts.js``. Colours are
named: "ink", "sky", "pale", or one of the five ideas that have a colour.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

PHONE = 358
"""Pixels that a picture has on a narrow screen."""


def numbers(values: Iterable[float]) -> tuple[float, ...]:
    """Four digits of each number: the last ones of a machine change no pixel."""
    return tuple(float(f"{value:.4g}") + 0.0 for value in values)


class Chart:
    """Anything that can be drawn; it has a height, in pixels."""

    height: int
    share = 1.0
    """How wide it is, beside others, compared with them."""

    @property
    def stacked(self) -> int:
        """Its height on a phone, pixels."""
        return self.height


@dataclass(frozen=True)
class Axis:
    """An axis: its label, its ends and its ticks; ``names`` stand for their numbers."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    log: bool = False

    def marks(self) -> tuple[str, ...]:
        """What is written at the ticks."""
        return self.names or tuple(f"{tick:,g}" for tick in self.ticks)


@dataclass(frozen=True)
class Line:
    """Points that a line joins, counted from 0."""

    y: tuple[float, ...]
    colour: str = "ink"


@dataclass(frozen=True)
class Point:
    """A dot; one with a letter is larger, and in front."""

    x: float
    y: float
    letter: str = ""
    colour: str = "ink"


@dataclass(frozen=True)
class Lines(Chart):
    """Lines over a common axis, and dots that are marked on them."""

    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    height: int = 200  # pixels
    title: str = ""
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Series:
    """One bar for each name of a chart."""

    values: tuple[float, ...]
    colour: str = "source"


@dataclass(frozen=True)
class Bars(Chart):
    """Bars that lie one below the other, their names at the left."""

    names: tuple[str, ...]
    value: Axis
    series: tuple[Series]
    notes: tuple[str, ...] = ()  # at the ends of the bars
    across: bool = True  # the page's script knows upright bars, too
    role: str = "ink"  # the colour of the names
    height: int = 200
    title: str = ""


@dataclass(frozen=True)
class Map(Chart):
    """Weights from 0 to 1 as cells, a row for each query; frames mark some of them.

    A cell that is None is grey. Where something is written in the cells, they are
    larger, and so much paler that it can be read.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    roles: tuple[str, str]  # colours of the names of rows and of columns
    labels: tuple[str, str]
    frames: tuple[tuple[int, int], ...] = ()
    texts: tuple[tuple[str, ...], ...] = ()  # what is written in the cells

    @property
    def height(self) -> int:
        """Pixels that charts.js needs for the names above and the cells."""
        return self._height(26)

    @property
    def stacked(self) -> int:
        """Pixels; where columns are narrower, rows are lower."""
        first, last = max(map(len, self.rows)), len(self.columns[-1])
        return self._height((PHONE - 42 - 8 * first - 4 * last) / len(self.columns))

    def _height(self, cell: float) -> int:
        high = 36 if self.texts else max(18, min(26, cell))
        names = 38 + 0.87 * 8 * max(map(len, self.columns))
        return round(names + high * len(self.rows))


@dataclass(frozen=True)
class Grid(Chart):
    """Vectors as rows of cells, positive in one colour and negative in another.

    The cells are as strong as they are large; ``most`` is the strongest.
    """

    rows: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]
    most: float
    label: str
    role: str
    chosen: int  # the row that is framed

    @property
    def height(self) -> int:
        """Pixels, with room for what the columns are."""
        return 70 + 27 * len(self.rows)


@dataclass(frozen=True)
class Stages(Chart):
    """Columns of boxes from the bottom up, one of them lit: what is being computed."""

    columns: tuple[tuple[str, ...], ...]
    titles: tuple[str, ...]
    lit: tuple[int, int]  # column and box
    share = 0.9

    @property
    def height(self) -> int:
        """Pixels."""
        return 40 + 20 * max(map(len, self.columns))


@dataclass(frozen=True)
class Arrow:
    """From the origin to a point; its label is a letter and perhaps an index."""

    label: str
    x: float
    y: float
    colour: str


@dataclass(frozen=True)
class Arrows(Chart):
    """Arrows in a plane that reaches as far in all four directions."""

    reach: float
    arrows: tuple[Arrow, ...]
    height = 290


def as_data(chart: Chart) -> dict[str, Any]:
    """A chart as JSON holds it, with its kind; what is written at ticks is added."""
    found = {"kind": type(chart).__name__, "share": chart.share}
    found |= asdict(chart) | {"height": chart.height}
    for name, part in vars(chart).items():
        if isinstance(part, Axis):
            found[name]["names"] = part.marks()
    return found
