"""The geometry of arrows in diagrams: rounded corners, heads, places for labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float]

CORNER = 8  # radius of rounded corners
WIDTH = 1.8  # of a line
GAP = 2  # between an arrowhead and what it points at


def head_length(width: float) -> float:
    """How long an arrowhead is: 9 for a usual line, more for a wide one."""
    return 9 + 1.5 * (width - WIDTH)


def shaft(points: Sequence[Point], width: float = WIDTH) -> str:
    """The line of an arrow, up to where its head is wider, as SVG path data."""
    # The head is 0.8 as wide as it is long, so 1.25 widths from its tip as wide as we.
    overlap = max(head_length(width) / 2, 1.25 * width)
    return track([*points[:-1], towards(points[-1], points[-2], GAP + overlap)])


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
