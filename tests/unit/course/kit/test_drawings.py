"""Drawings: what cannot be drawn, and links; nbval compares the rest."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from attnbook.course.ch09 import drawings as ch09_drawings
from attnbook.course.kit.drawings.linked import LinkedDiagram

SVG = "{http://www.w3.org/2000/svg}"


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
