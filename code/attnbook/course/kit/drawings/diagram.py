"""Boxes and arrows, drawn as plain SVG: the same bytes every time, sharp at any size.

    d = Diagram(300, 60, alt="An arrow leads from the word bird to the state h_1.")
    word = d.text("bird", 40, 30)
    state = d.box("$h_1$", 200, 30, role="source")
    d.arrow(word, state, label="(B, E)")

Coordinates are pixels, x to the right and y down, and a box is placed by its centre.
Text is 16 pixels, so a diagram up to 510 pixels wide can still be read on a phone.
"""

from collections.abc import Sequence
from html import escape

from attnbook.course.kit.colours import (
    COLOURS,
    DARK_GREY,
    INK,
    PALE_GREY,
    SHADE,
    TEXT_COLOURS,
    tint,
)
from attnbook.course.kit.drawings.labels import over_arrow, plain, tspans
from attnbook.course.kit.drawings.shapes import (
    CORNER,
    WIDTH,
    Arrow,
    Box,
    Point,
    draw_arrows,
    label_place,
    number,
    outline,
    rectangle,
    role_colour,
)

FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"
SIZE = 16
QUERY, KEY, VALUE = {"role": "query"}, {"role": "key"}, {"role": "value"}
SOURCE, TARGET = {"role": "source"}, {"role": "target"}


class Diagram:
    """A drawing that a notebook shows.

    Its methods draw one thing each: ``x`` and ``y`` are a centre, ``left``, ``top``,
    ``right`` and ``bottom`` edges. A role is one of the five ideas that have a colour;
    what has none is grey. A :class:`Box` is a place that arrows lead to.

    Args:
        width: Width in pixels.
        height: Height in pixels.
        alt: What is to be seen, for those who cannot see it.
    """

    def __init__(self, width: float, height: float, *, alt: str):
        self.width, self.height, self.alt = width, height, alt
        self._back: list[str] = []
        self._arrows: list[Arrow] = []
        self._front: list[str] = []
        self._veils: list[str] = []

    def box(
        self,
        label: str,
        x: float,
        y: float,
        *,
        role: str | None = None,
        width: float = 38,
        height: float = 38,
        filled: bool = False,
    ) -> Box:
        """Draw a labelled box; its colour fills the one box that all is about.

        In the label formulas stand between dollar signs, and lines end with a newline;
        ``$→h_j$`` has the arrow over its h.
        """
        box = Box(x, y, width, height)
        line = role_colour(role, TEXT_COLOURS if filled else COLOURS)
        self._front.append(rectangle(box, line if filled else tint(line), line))
        colour = "#FFF" if filled else _ink(role)
        lines = label.split("\n")
        for i, line in enumerate(lines):
            shift = 1.3 * SIZE * (i - (len(lines) - 1) / 2)
            self._write(line, x, y + shift, colour)
        return box

    def plus(self, x: float, y: float) -> Box:
        """Draw a sign of addition; returns its place."""
        return self._sign(
            x, y, f"M{number(x - 6)},{number(y)} h12 M{number(x)},{number(y - 6)} v12"
        )

    def times(self, x: float, y: float) -> Box:
        """Draw a sign of multiplication; returns its place."""
        left, top = number(x - 4.5), number(y - 4.5)
        return self._sign(x, y, f"M{left},{top} l9,9 m0,-9 l-9,9")

    def _sign(self, x: float, y: float, strokes: str) -> Box:
        self._front.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="11" fill="#FFF" '
            f'stroke="{DARK_GREY}" stroke-width="1.6"/>'
            f'<path d="{strokes}" stroke="{INK}" stroke-width="1.6"/>'
        )
        return Box(x, y, 22, 22)

    def bar(self, left: float, y: float, length: float) -> None:
        """Draw a bar of a chart that lies on its side, from its left end."""
        edges = (left, y - 8, left + length, y + 8)
        self._front.append(f'<path d="{outline(*edges)}" fill="{DARK_GREY}"/>')

    def tiles(
        self,
        matrix: Sequence[Sequence[bool]],
        left: float,
        top: float,
        *,
        role: str | None = None,
        size: float = 16,
    ) -> None:
        """Draw a matrix as tiles, coloured where it is true and pale elsewhere."""
        for value, fill in ((False, SHADE), (True, role_colour(role, COLOURS))):
            places = [
                (left + size * j, top + size * i)
                for i, row in enumerate(matrix)
                for j, cell in enumerate(row)
                if bool(cell) is value
            ]
            if places:
                way = " ".join(outline(x, y, x + size, y + size) for x, y in places)
                self._front.append(f'<path d="{way}" fill="{fill}" stroke="#FFF"/>')

    def frame(self, left: float, top: float, right: float, bottom: float) -> None:
        """Draw a dashed frame behind everything, round what belongs together."""
        self._back.append(
            f'<path d="{outline(left, top, right, bottom)}" fill="none" '
            f'stroke="{DARK_GREY}" stroke-dasharray="3 3" stroke-linejoin="round"/>'
        )

    def stack(
        self, left: float, top: float, right: float, bottom: float, sheets: int = 3
    ) -> None:
        """Draw sheets behind everything: what is on the first is there several times.

        The edges are those of the first; the others stick out above and to the right.
        """
        for n in reversed(range(sheets)):
            edges = (left + 7 * n, top - 7 * n, right + 7 * n, bottom - 7 * n)
            self._back.append(
                f'<path d="{outline(*edges)}" fill="{tint(DARK_GREY)}" '
                f'stroke="{DARK_GREY}" stroke-linejoin="round"/>'
            )

    def veil(self, left: float, top: float, right: float, bottom: float) -> None:
        """Make what has been drawn in a rectangle pale: it is not the subject."""
        self._veils.append(
            f'<path d="{outline(left, top, right, bottom)}" fill="#FFF" '
            'fill-opacity="0.78"/>'
        )

    def text(
        self,
        label: str,
        x: float,
        y: float,
        *,
        role: str | None = None,
        anchor: str = "middle",
    ) -> Box:
        """Write a label as that of a box.

        With the anchor "start", ``x`` is where it begins; with "end", where it ends.
        """
        self._write(label, x, y, _ink(role), anchor)
        return Box(x, y, 0.6 * SIZE * len(plain(label)), 1.4 * SIZE)

    def arrow(
        self,
        *stops: Box | Point,
        label: str = "",
        role: str | None = None,
        dashed: bool = False,
        width: float = WIDTH,
    ) -> None:
        """Draw an arrow, with rounded corners at the points between its ends.

        Arrows of one colour drawn one after another run together where they meet; one
        of another colour, drawn later, passes over them like a bridge.

        Args:
            stops: From where to where: boxes or points, with corners between them.
            label: Text beside the longest straight piece, such as a shape.
            role: As everywhere.
            dashed: Whether the line is dashed.
            width: Width of the line, for arrows that carry unequal amounts.
        """
        points = [(s.x, s.y) if isinstance(s, Box) else s for s in stops]
        for end, next_ in ((0, 1), (-1, -2)):
            if isinstance(stops[end], Box):
                points[end] = stops[end].edge(points[next_])
        self._arrows.append(Arrow(points, role_colour(role, COLOURS), dashed, width))
        if label:
            (x, y), anchor = label_place(points, SIZE)
            self._write(label, x, y, _ink(role), anchor)

    def line(
        self,
        *points: Point,
        role: str | None = None,
        width: float = WIDTH,
        pale: bool = False,
    ) -> None:
        """Draw a line without a head, such as the stem that arrows branch off from.

        Without a role it is grey, and pale beside the subject.
        """
        colour = role_colour(role, COLOURS, PALE_GREY if pale else DARK_GREY)
        self._arrows.append(Arrow(points, colour, width=width, pointed=False))

    def fork(
        self, start: Point, ends: Sequence[Point], *, role: str | None = None
    ) -> None:
        """Draw arrows that branch off, one after another, from one level line.

        From the start on, each leaves the line above or below its end.
        """
        x, y = start
        for end in ends:
            self.arrow((x, y), (end[0], y), end, role=role)
            x = end[0] - CORNER  # where this one bends

    def bracket(self, title: str, boxes: Sequence[Box], y: float) -> None:
        """Say what boxes are together: a line as wide as they are, a title below it."""
        first, last = boxes[0], boxes[-1]
        left, right = first.x - first.width / 2, last.x + last.width / 2
        self._front.append(
            f'<path d="M{number(left)},{number(y - 5)} v5 H{number(right)} v-5" '
            f'fill="none" stroke="{role_colour(None, COLOURS)}"/>'
        )
        self._write(title, (left + right) / 2, y + SIZE, _ink(None))

    def _write(
        self, label: str, x: float, y: float, colour: str, anchor: str = "middle"
    ) -> None:
        if over := over_arrow(label, x, y - 0.5 * SIZE, SIZE):
            y += 0.2 * SIZE  # room for the arrow
            self._front.append(
                f'<path d="{over}" fill="none" stroke="{colour}" stroke-width="1.2"/>'
            )
        self._front.append(
            f'<text x="{number(x)}" y="{number(y + 0.35 * SIZE)}" fill="{colour}" '
            f'text-anchor="{anchor}">{tspans(label, SIZE)}</text>'
        )

    def __repr__(self) -> str:
        return f"<Diagram {self.width} x {self.height}>"

    def _repr_svg_(self) -> str:
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        view = f"0 0 {number(self.width)} {number(self.height)}"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="{view}" '
                f'role="img" font-family="{FONT}" font-size="{SIZE}">',
                f"<title>{escape(self.alt)}</title>",
                '<rect width="100%" height="100%" rx="6" fill="#FFF"/>',
                *self._back,
                *draw_arrows(self._arrows),
                *self._front,
                *self._veils,
                "</svg>",
            ]
        )


def _ink(role: str | None) -> str:
    """The colour in which text of a role is written; dark grey without one."""
    return role_colour(role, TEXT_COLOURS, INK)
