"""The look of diagrams: boxes, colours by role, arrows that bridge each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from attnbook.course.kit.colours import DARK_GREY
from attnbook.course.kit.drawings.arrows import (
    WIDTH,
    Point,
    head,
    number,
    shaft,
    track,
)


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
        way = shaft(self.points, self.width) if self.pointed else track(self.points)
        return (
            f'<path d="{way}" fill="none" '
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
