import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.book import (
    ch03_diagrams,
    ch04_diagrams,
    ch05_diagrams,
    ch06_diagrams,
    ch07_diagrams,
)
from attnbook.book.ch01_diagrams import (
    bidirectional_encoder,
    encoder_decoder,
    static_context,
)
from attnbook.book.diagrams import Diagram
from attnbook.book.labels import tspans
from attnbook.book.shapes import Box

SOURCE = ["the", "old", "farmer", "sees", "a", "bird"]
TARGET = ["maron", "velin", "ken", "lipas", "dos", "mirat"]
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    elements = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return ["".join(element.itertext()) for element in elements]


def small():
    d = Diagram(300, 60, alt="An arrow from a & b to h.")
    d.arrow(d.text("a & b", 40, 30), d.box("$h_{t-1}$", 200, 30), label="(B, H)")
    return d


def test_it_is_svg_with_its_description():
    root = ElementTree.fromstring(small()._repr_svg_())
    assert root.find(f"{SVG}title").text == "An arrow from a & b to h."
    assert (root.get("width"), root.get("viewBox")) == ("300", "0 0 300 60")
    assert texts(small()._repr_svg_()) == ["a & b", "ht−1", "(B, H)"]


def test_the_same_drawing_gives_the_same_bytes():
    assert small()._repr_svg_() == small()._repr_svg_()
    assert repr(small()) == "<Diagram 300 x 60>"


def test_a_formula_shifts_its_scripts_and_comes_back():
    spans = tspans("state $W^Q_1x$", 10)
    shifts = [float(n) for n in re.findall(r'dy="(-?[\d.]+)"', spans)]
    assert len(shifts) == 3
    assert sum(shifts) == pytest.approx(0, abs=0.11)
    assert spans.startswith("state <tspan")
    assert 'font-style="italic">W<' in spans
    assert re.search(r"<tspan[^>]*dy[^>]*>1<", spans)
    assert 'italic">1<' not in spans


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


def test_an_arrow_bridges_those_of_another_colour_drawn_before():
    d = Diagram(100, 100, alt="Two arrows cross.")
    d.arrow((50, 0), (50, 90))
    d.arrow((0, 50), (90, 50), role="source")
    paths = ElementTree.fromstring(d._repr_svg_()).iter(f"{SVG}path")
    strokes = [path.get("stroke") for path in paths if path.get("stroke")]
    assert strokes == ["#FFF", "#6E7781", "#FFF", "#0072B2"]


def test_a_wide_arrow_has_a_head_wider_than_itself():
    d = Diagram(100, 100, alt="A wide arrow.")
    d.arrow((0, 50), (90, 50), width=8)
    margin, line, tip = ElementTree.fromstring(d._repr_svg_()).iter(f"{SVG}path")
    assert (margin.get("stroke-width"), line.get("stroke-width")) == ("13.2", "8")
    heights = [float(y) for y in re.findall(r",([\d.]+)", tip.get("d"))]
    assert max(heights) - min(heights) > 1.5 * 8


def test_the_two_models_differ_in_blue_arrows_only():
    one = encoder_decoder(SOURCE, TARGET)._repr_svg_().splitlines()
    two = static_context(SOURCE, TARGET)._repr_svg_().splitlines()
    more = [line for line in two if line not in one]
    assert [line for line in one if line not in two] == [one[1]]  # the description
    assert len(more) == 1 + 2 * 4
    assert all("#FFF" in line or "#0072B2" in line for line in more[1:])


def reached_from_below(svg):
    """How many of the decoder's boxes have the tip of a blue arrow at their bottom."""
    tips = re.findall(r'<path d="M([\d.]+),([\d.]+) [^>]* fill="#0072B2"/>', svg)
    count = 0
    for box in ElementTree.fromstring(svg).iter(f"{SVG}rect"):
        if box.get("stroke") == "#D55E00":
            x, y, width, height = (
                float(box.get(k)) for k in ("x", "y", "width", "height")
            )
            count += any(
                x < float(tip_x) < x + width and 0 < float(tip_y) - y - height < 4
                for tip_x, tip_y in tips
            )
    return count


def test_the_context_reaches_every_state():
    assert reached_from_below(encoder_decoder(SOURCE, TARGET)._repr_svg_()) == 0
    assert reached_from_below(static_context(SOURCE, TARGET)._repr_svg_()) == 3


def test_words_are_in_their_places():
    shown = texts(encoder_decoder(SOURCE, TARGET)._repr_svg_())
    assert [t for t in shown if t in SOURCE] == ["the", "old", "bird"]
    assert [t for t in shown if t in (*TARGET, "BOS", "EOS")] == [
        *("BOS", "maron", "mirat"),
        *("maron", "velin", "EOS"),
    ]
    assert {"h6", "s7", "c"} <= set(shown)
    assert {"f6", "b6"} <= set(texts(bidirectional_encoder(SOURCE)._repr_svg_()))


@pytest.mark.parametrize(
    "diagram",
    [
        encoder_decoder(SOURCE, TARGET),
        static_context(SOURCE, TARGET),
        bidirectional_encoder(SOURCE),
    ],
)
def test_diagrams_can_be_read_on_a_phone(diagram):
    assert diagram.width <= 510
    for box in ElementTree.fromstring(diagram._repr_svg_()).iter(f"{SVG}text"):
        assert 0 < float(box.get("x")) < diagram.width
        assert 10 < float(box.get("y")) < diagram.height


def test_a_short_sentence_is_an_error():
    with pytest.raises(ValueError, match="source has 2 words, 'a bird'"):
        bidirectional_encoder(["a", "bird"])
    with pytest.raises(ValueError, match="target has 1 words"):
        encoder_decoder(SOURCE, ["dos"])


@pytest.mark.parametrize(
    "draw",
    [
        ch03_diagrams.step_orders,
        ch03_diagrams.attentional_state,
        ch04_diagrams.data_flow,
        ch04_diagrams.three_attentions,
        ch05_diagrams.multi_head,
        ch06_diagrams.broadcasting,
        ch06_diagrams.shifted_words,
        ch07_diagrams.ways_in,
    ],
)
def test_a_chapters_diagram_fits_the_page_and_stays_the_same(draw):
    diagram = draw()
    assert diagram.width <= 510
    svg = diagram._repr_svg_()
    assert svg == draw()._repr_svg_()
    assert svg.count("<rect") - 1 <= 12  # boxes, on a white ground
    assert diagram.alt.endswith(".")
