"""Drawings of chapters 1 to 3: they fit the page, and no label hides another.

What leads where stands in the pages' stored outputs, byte for byte.
"""

import math
import re
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from attnbook.course.ch01 import drawings as ch01
from attnbook.course.ch02 import drawings as ch02
from attnbook.course.ch03 import drawings as ch03
from attnbook.course.kit.colours import COLOURS
from attnbook.course.kit.drawings.diagram import Diagram
from attnbook.course.kit.drawings.labels import over_arrow

SOURCE = ["the", "old", "farmer", "sees", "a", "bird"]
TARGET = ["maron", "velin", "ken", "lipas", "dos", "mirat"]
SVG = "{http://www.w3.org/2000/svg}"


class Area(NamedTuple):
    """A rectangle of a drawing, by its edges."""

    name: str
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other, slack=0.0):
        return (
            self.left - slack <= other.left
            and other.right <= self.right + slack
            and self.top - slack <= other.top
            and other.bottom <= self.bottom + slack
        )

    def apart(self, other):
        return (
            self.right <= other.left
            or other.right <= self.left
            or self.bottom <= other.top
            or other.bottom <= self.top
        )


def root_of(diagram):
    return ElementTree.fromstring(diagram._repr_svg_())


def labels(diagram):
    """The texts of a drawing and where they lie; widths are those of usual fonts."""
    areas = []
    for text in root_of(diagram).iter(f"{SVG}text"):
        name = "".join(text.itertext())
        width = sum(
            len(piece) * 0.48 * size
            for piece, size in [(text.text or "", 16)]
            + [
                (span.text or "", float(span.get("font-size", 16)))
                for span in text.iter(f"{SVG}tspan")
            ]
            + [(span.tail or "", 16) for span in text]
        )
        x, y = float(text.get("x")), float(text.get("y"))
        left = {"middle": x - width / 2, "start": x, "end": x - width}
        left = left[text.get("text-anchor")]
        areas.append(Area(name, left, y - 11, left + width, y + 3))
    return areas


def boxes(diagram):
    """The boxes of a drawing, without the page."""
    _, *found = root_of(diagram).iter(f"{SVG}rect")
    for box in found:
        x, y, width, height = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        yield Area("box", x, y, x + width, y + height)


DRAWINGS = {
    "unrolled": lambda: ch01.unrolled(SOURCE, TARGET),
    "static context": lambda: ch01.static_context(SOURCE, TARGET),
    "GRU cell": ch01.gru_cell,
    "soft memory": ch02.soft_memory,
    "Bahdanau's step": ch02.bahdanau_step,
    "two orders": ch03.two_orders,
    "attentional state": ch03.attentional_state,
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_a_drawing_fits_the_page_and_stays_the_same(draw):
    diagram = draw()
    assert diagram.width <= 510
    assert diagram.alt.endswith(".")
    assert diagram._repr_svg_() == draw()._repr_svg_()
    page = Area("page", 0, 0, diagram.width, diagram.height)
    for area in (*labels(diagram), *boxes(diagram)):
        assert page.holds(area), area
    for path in root_of(diagram).iter(f"{SVG}path"):
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path.get("d")):
            if not path.get("d").startswith("l"):
                assert -10 < float(x) < diagram.width
                assert -10 < float(y) < diagram.height


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_no_label_overlaps_another_or_the_edge_of_a_box(draw):
    diagram = draw()
    texts = labels(diagram)
    for one, other in combinations(texts, 2):
        assert one.apart(other), (one, other)
    for text in texts:
        for box in boxes(diagram):
            assert text.apart(box) or box.holds(text, slack=4), (text, box)


def test_an_arrow_stands_over_its_letter_and_shows_the_direction():
    right, left = (over_arrow(f"${sign}h_1$", 100, 50, 16) for sign in "→←")
    for path, ahead in ((right, 1), (left, -1)):
        start, end = map(float, re.match(r"M([\d.]+),50.0 H([\d.]+) ", path).groups())
        assert math.copysign(1, end - start) == ahead
        assert 90 < (start + end) / 2 < 100  # over the h, and the index right of it
    assert over_arrow("$h_1$", 100, 50, 16) == over_arrow("a → b", 100, 50, 16) == ""


def test_a_label_with_an_arrow_is_read_without_it():
    d = Diagram(100, 100, alt="A state.")
    d.box("$→h_{j-1}$", 50, 50)
    assert [text.name for text in labels(d)] == ["hj−1"]
    assert "→" not in d._repr_svg_()


def test_a_sentence_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="source has 0 words: give 1 to 6"):
        ch01.unrolled([], TARGET)
    with pytest.raises(ValueError, match="target has 7 words"):
        ch01.static_context(SOURCE, [*TARGET, "ozit"])


def test_a_fork_branches_where_the_last_arrow_bends():
    d = Diagram(200, 100, alt="Two arrows leave a line.")
    d.fork((10, 50), [(60, 10), (110, 90)], role="source")
    paths = [*root_of(d).iter(f"{SVG}path")]
    blue = COLOURS["source"]
    lines = [path.get("d").split()[0] for path in paths if path.get("stroke") == blue]
    assert lines == ["M10,50", "M52,50"]
    tips = [path.get("d").split()[0] for path in paths if path.get("fill") == blue]
    assert tips == ["M60,12", "M110,88"]


def test_a_bar_is_as_long_as_told_and_as_high():
    d = Diagram(100, 100, alt="A bar.")
    d.bar(10, 50, 40, height=20)
    (bar,) = root_of(d).iter(f"{SVG}path")
    assert bar.get("d") == "M10,40 H50 V60 H10 Z"
