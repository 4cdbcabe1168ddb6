"""Drawings: what cannot be drawn, and links; nbval compares the rest."""

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.course.ch01 import drawings as ch01_drawings
from attnbook.course.ch05 import drawings as ch05_drawings
from attnbook.course.ch09 import drawings as ch09_drawings
from attnbook.course.kit.colours import COLOURS, PALE_GREY
from attnbook.course.kit.drawings.diagram import Diagram
from attnbook.course.kit.drawings.labels import over_arrow, tspans
from attnbook.course.kit.drawings.linked import LinkedDiagram
from attnbook.course.kit.drawings.shapes import Box

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("label", ["$h", "$h_{1$", "$h_{a_1}$", "$h_$", "$h}$"])
def test_a_broken_formula_is_an_error(label):
    with pytest.raises(ValueError, match="formula"):
        tspans(label, 16)


@given(st.floats(-500, 500), st.floats(-500, 500))
def test_arrows_touch_the_edge_of_a_box(x, y):
    box = Box(0, 0, 40, 20)
    if abs(x) <= 20 and abs(y) <= 10:
        return
    edge = box.edge((x, y))
    assert max(abs(edge[0]) / 20, abs(edge[1]) / 10) == pytest.approx(1)


def test_arrows_are_straight_where_they_can_be():
    box = Box(100, 100, 40, 20)
    assert box.edge((92, 300)) == (92, 110)
    assert box.edge((0, 95)) == (80, 95)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda d: d.box("h", 10, 10, role="sauce"), "role 'sauce': choose one of"),
        (lambda d: d.arrow((0, 0)), "1 stops"),
        (lambda d: d.arrow((0, 0), (5, 0)), "the last must leave 11"),
        (lambda d: d.arrow((0, 0), (50, 0), (50, 15)), "the last must leave 19"),
        (lambda d: d.arrow((0, 0), (0, 0), (50, 0)), "none may be 0"),
        (lambda d: d.arrow((0, 0), (50, 0), width=0), "0 pixels wide"),
        (lambda d: d.arrow((0, 0), (15, 0), width=8), "the last must leave 20.3"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(draw, words):
    with pytest.raises(ValueError, match=words):
        draw(Diagram(100, 100, alt="Nothing."))


@pytest.mark.parametrize(
    ("width", "alt", "words"), [(0, "x", "0 x 100"), (10, "", "alt is empty")]
)
def test_a_diagram_has_a_size_and_a_description(width, alt, words):
    with pytest.raises(ValueError, match=words):
        Diagram(width, 100, alt=alt)


def test_an_arrow_stands_over_its_letter_and_shows_the_direction():
    right, left = (over_arrow(f"${sign}h_1$", 100, 50, 16) for sign in "→←")
    for path, ahead in ((right, 1), (left, -1)):
        start, end = map(float, re.match(r"M([\d.]+),50.0 H([\d.]+) ", path).groups())
        assert math.copysign(1, end - start) == ahead
        assert 90 < (start + end) / 2 < 100  # over the h, and the index right of it
    assert over_arrow("$h_1$", 100, 50, 16) == over_arrow("a → b", 100, 50, 16) == ""


def test_a_sentence_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="source has 0 words: give 1 to 6"):
        ch01_drawings.unrolled([], ["maron"])
    with pytest.raises(ValueError, match="target has 7 words"):
        ch01_drawings.static_context(["bird"], ["maron"] * 7)


def test_a_wide_arrow_has_a_head_wider_than_itself():
    d = Diagram(100, 100, alt="A wide arrow.")
    d.arrow((0, 50), (90, 50), width=8)
    margin, line, tip = ElementTree.fromstring(d._repr_svg_()).iter(f"{SVG}path")
    assert (margin.get("stroke-width"), line.get("stroke-width")) == ("13.2", "8")
    heights = [float(y) for y in re.findall(r",([\d.]+)", tip.get("d"))]
    assert max(heights) - min(heights) > 1.5 * 8


def heads_at_a_word():
    weights = torch.tensor([[0.9, 0.02, 0.08], [0, 1, 0], [0.25, 0.25, 0.5]])
    return ch05_drawings.heads_at_a_word("c", ["a", "b", "<eos>"], weights)


def test_lines_to_heads_are_as_thick_as_weights_and_two_heads_stand_out():
    diagram = heads_at_a_word()
    assert "head 1: a 90%; head 2: b 100%; head 3: a 25%, b 25%, " in diagram.alt
    lines = [
        (path.get("stroke"), float(path.get("stroke-width")))
        for path in ElementTree.fromstring(diagram._repr_svg_()).iter(f"{SVG}path")
        if path.get("stroke") and path.get("d").startswith("M92,")
    ]
    one, three = COLOURS["value"], COLOURS["query"]
    assert lines == [
        *((PALE_GREY, 16.0), (one, 14.4), (one, 1.3)),
        *((three, 4.0), (three, 4.0), (three, 8.0)),
    ]


def links(diagram):
    """Where the links of a diagram lie, in its pixels, where they lead, their names."""
    html = ElementTree.fromstring(diagram._repr_html_().replace('0">', '0"/>', 1))
    for a in html.iter("a"):
        parts = dict(re.findall(r"(\w+): ([\d.]+)%", a.get("style")))
        left, top, width, height = (
            float(parts[key]) / 100 * size
            for key, size in (
                *(("left", diagram.width), ("top", diagram.height)),
                *(("width", diagram.width), ("height", diagram.height)),
            )
        )
        yield (left, top, width, height), a.get("href"), a.get("aria-label")


def test_a_link_lies_over_its_box():
    d = LinkedDiagram(200, 100, alt="A box & a link.")
    d.link(d.box("a", 50, 40, width=60, height=20), "ch01.html#a", "chapter 1 & more")
    assert list(links(d)) == [((20, 30, 60, 20), "ch01.html#a", "chapter 1 & more")]
    assert 'alt="A box &amp; a link."' in d._repr_html_()


@pytest.mark.parametrize(("address", "name"), [("", "chapter 1"), ("ch01.html", "")])
def test_a_link_has_an_address_and_a_name(address, name):
    with pytest.raises(ValueError, match="give an address and a name"):
        LinkedDiagram(9, 9, alt="Nothing.").link(Box(5, 5, 2, 2), address, name)


def test_every_box_of_the_architecture_leads_to_a_chapter():
    diagram = ch09_drawings.architecture()
    places = [place for place, *_ in links(diagram)]
    _, *boxes = ElementTree.fromstring(diagram._repr_svg_()).iter(f"{SVG}rect")
    for box in boxes:
        x, y, height = (float(box.get(k)) for k in ("x", "y", "height"))
        over = [
            p
            for p in places
            if x - 1 < p[0] < x + 1 and y - 1 < p[1] and p[1] + p[3] < y + height + 1
        ]
        for link in over:  # one below the other, from the top to the bottom
            assert link[1] == pytest.approx(y, abs=0.3)
            y += link[3]
            height -= link[3]
        assert height == pytest.approx(0, abs=0.3)
    book = Path(__file__).parents[4] / "book"
    for _, address, name in links(diagram):
        page = address.partition(".")[0]
        assert (book / f"{page}.ipynb").exists()
        assert f"chapter {int(page[2:4])}, " in name
