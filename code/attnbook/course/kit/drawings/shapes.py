"""Boxes and arrows of diagrams: geometry, colours by role, bridges, SVG elements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from attnbook.course.kit.colours import DARK_GREY

Point = tuple[float, float]

CORNER = 8  # radius of rounded corners
WIDTH = 1.8  # of a line
GAP = 2  # between an arrowhead and what it points at


def head_length(width: float) -> float:
    """How long an arrowhead is: 9 for a usual line, more for a wide one."""
    return 9 + 1.5 * (width - WIDTH)


def track(points: Sequence[Point]) -> str:
    """A line along points with rounded corners, as SVG path data."""
    path = [f"M{xy(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(
            CORNER, math.dist(before, corner) / 2, math.dist(corner, after) / 2
        )
        start, end = towards(corner, before, radius), towards(corner, after, radius)
        path.append(f"L{xy(start)} Q{xy(corner)} {xy(end)}")
    return " ".join([*path, f"L{xy(points[-1])}"])


def head(points: Sequence[Point], width: float = WIDTH) -> str:
    """The head of an arrow: slender, its back drawn in a little."""
    tip = towards(points[-1], points[-2], GAP)
    back = towards(tip, points[-2], head_length(width))
    notch = towards(tip, points[-2], 0.72 * head_length(width))
    across = (0.4 * (tip[1] - back[1]), 0.4 * (back[0] - tip[0]))
    left = (back[0] + across[0], back[1] + across[1])
    right = (back[0] - across[0], back[1] - across[1])
    return f"M{xy(tip)} L{xy(left)} L{xy(notch)} L{xy(right)} Z"


def label_place(points: Sequence[Point], size: float) -> tuple[Point, str]:
    """Where the label of an arrow goes: above its longest piece, or right of it."""
    (x0, y0), (x1, y1) = max(pairwise(points), key=lambda piece: math.dist(*piece))
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    if abs(x1 - x0) >= abs(y1 - y0):
        return (x, y - 0.75 * size), "middle"
    return (x + 0.4 * size, y), "start"


def towards(start: Point, goal: Point, distance: float) -> Point:
    """The point a distance away from a start, in the direction of a goal."""
    part = distance / math.dist(start, goal)
    return tuple(a + part * (b - a) for a, b in zip(start, goal, strict=True))


def xy(point: Point) -> str:
    """A point as SVG writes it."""
    return ",".join(map(number, point))


def number(value: float) -> str:
    """A number as short as it goes: one decimal, no trailing zero."""
    return f"{round(value, 1) + 0.0:g}"


@dataclass(frozen=True)
class Box:
    """A place that arrows start from and lead to: its centre and its size."""

    x: float
    y: float
    width: float
    height: float

    def edge(self, point: Point) -> Point:
        """Where an arrow between the box and a point touches it: straight if it can."""
        dx, dy = point[0] - self.x, point[1] - self.y
        if abs(dx) < self.width / 2:
            return point[0], self.y + math.copysign(self.height / 2, dy)
        if abs(dy) < self.height / 2:
            return self.x + math.copysign(self.width / 2, dx), point[1]
        part = min(self.width / abs(dx), self.height / abs(dy)) / 2
        return self.x + part * dx, self.y + part * dy


@dataclass(frozen=True)
class Arrow:
    """An arrow along points, from its start over its corners to its tip."""

    points: Sequence[Point]
    colour: str
    dashed: bool = False
    width: float = WIDTH
    pointed: bool = True  # a line without a head is an arrow as well

    def line(self, colour: str, margin: float = 0) -> str:
        """Its shaft as an SVG element, wider by a margin on either side."""
        dashes = ' stroke-dasharray="5 4"' if self.dashed else ""
        *before, end = self.points
        if self.pointed:  # up to where the head is wider
            # It is 0.8 as wide as long, so 1.25 widths from its tip as wide as we.
            overlap = max(head_length(self.width) / 2, 1.25 * self.width)
            end = towards(end, before[-1], GAP + overlap)
        return (
            f'<path d="{track([*before, end])}" fill="none" '
            f'stroke="{colour}" stroke-width="{number(self.width + 2 * margin)}"'
            f"{dashes}/>"
        )

    def tip(self) -> str:
        """Its head as an SVG element, if it has one."""
        if not self.pointed:
            return ""
        return f'<path d="{head(self.points, self.width)}" fill="{self.colour}"/>'


def draw_arrows(arrows: Sequence[Arrow]) -> list[str]:
    """Draw arrows run by run: white below all of one colour, so that runs bridge."""
    drawn = []
    for _, run in groupby(arrows, key=lambda arrow: arrow.colour):
        run = list(run)
        # A stem touches the arrows that branch off from it.
        drawn += [arrow.line("#FFF", margin=2.6) for arrow in run if arrow.pointed]
        drawn += [arrow.line(arrow.colour) + arrow.tip() for arrow in run]
    return drawn


def rectangle(box: Box, fill: str, line: str) -> str:
    """A box with round corners as an SVG element."""
    x, y = box.x - box.width / 2, box.y - box.height / 2
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(box.width)}" '
        f'height="{number(box.height)}" rx="7" fill="{fill}" stroke="{line}" '
        f'stroke-width="1.6"/>'
    )


def outline(left: float, top: float, right: float, bottom: float) -> str:
    """A rectangle as SVG path data."""
    left, top, right, bottom = map(number, (left, top, right, bottom))
    return f"M{left},{top} H{right} V{bottom} H{left} Z"


def role_colour(
    role: str | None, colours: dict[str, str], neutral: str = DARK_GREY
) -> str:
    """Look the colour of a role up."""
    return neutral if role is None else colours[role]
