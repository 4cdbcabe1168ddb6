import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.course.a1 import drawings as a1_drawings
from attnbook.course.a2 import drawings as a2_drawings
from attnbook.course.ch03 import drawings as ch03_drawings
from attnbook.course.ch04 import drawings as ch04_drawings
from attnbook.course.ch05 import drawings as ch05_drawings
from attnbook.course.ch06 import drawings as ch06_drawings
from attnbook.course.ch07 import drawings as ch07_drawings
from attnbook.course.ch08 import drawings as ch08_drawings
from attnbook.course.ch09 import drawings as ch09_drawings
from attnbook.course.ch10 import drawings as ch10_drawings
from attnbook.course.kit.drawings.diagram import Diagram
from attnbook.course.kit.drawings.labels import tspans
from attnbook.course.kit.drawings.linked import LinkedDiagram
from attnbook.course.kit.drawings.shapes import Box
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy

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


def test_a_frame_is_behind_and_a_veil_before_everything():
    d = Diagram(100, 100, alt="A box in a frame, veiled.")
    d.veil(0, 0, 50, 100)
    d.box("a", 50, 50)
    d.frame(10, 10, 90, 90)
    svg = d._repr_svg_()
    assert svg.index("stroke-dasharray") < svg.index(">a<") < svg.index("fill-opacity")


def test_a_wide_arrow_has_a_head_wider_than_itself():
    d = Diagram(100, 100, alt="A wide arrow.")
    d.arrow((0, 50), (90, 50), width=8)
    margin, line, tip = ElementTree.fromstring(d._repr_svg_()).iter(f"{SVG}path")
    assert (margin.get("stroke-width"), line.get("stroke-width")) == ("13.2", "8")
    heights = [float(y) for y in re.findall(r",([\d.]+)", tip.get("d"))]
    assert max(heights) - min(heights) > 1.5 * 8


@pytest.mark.parametrize(
    "draw",
    [
        ch03_drawings.two_orders,
        ch03_drawings.attentional_state,
        ch04_drawings.data_flow,
        ch04_drawings.projections,
        ch05_drawings.multi_head,
        ch06_drawings.broadcasting,
        ch06_drawings.prefix_in_two_layers,
        ch06_drawings.shifted_words,
        ch07_drawings.ways_in,
        ch08_drawings.residual,
        ch08_drawings.post_and_pre,
        ch08_drawings.decoder_layer,
        ch09_drawings.architecture,
        ch09_drawings.one_memory,
        ch09_drawings.dependencies,
        ch10_drawings.cache_growth,
        ch10_drawings.beam_tree,
        a1_drawings.three_models,
        a2_drawings.two_blocks,
    ],
)
def test_a_chapters_diagram_fits_the_page_and_stays_the_same(draw):
    diagram = draw()
    assert diagram.width <= 510
    svg = diagram._repr_svg_()
    assert svg == draw()._repr_svg_()
    # Boxes, on a white ground; only the whole model, with its norms, needs more.
    most = 16 if draw is ch09_drawings.architecture else 12
    assert svg.count("<rect") - 1 <= most
    assert diagram.alt.endswith(".")


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


LETTERS = {2: ".", 4: "A", 5: "B", 6: "C"}


class Tree(torch.nn.Module):
    """The table of the drawing as a model: 2 is EOS, 4 to 6 are A, B and C."""

    def start(self, src):
        return torch.zeros(len(src), 0, dtype=torch.long)

    def step(self, token, state):
        state = torch.cat([state, token[:, None]], 1)
        logits = torch.full((len(token), 7), -1e9)
        for i, row in enumerate(state.tolist()):
            prefix = "".join(LETTERS[token] for token in row[1:] if token != 0)
            table = ch10_drawings.TREE.get(prefix, {".": 1.0})
            for word, letter in LETTERS.items():
                logits[i, word] = math.log(table.get(letter, 1e-9))
        return logits, state


def test_the_tree_is_what_greedy_decoding_and_a_beam_find():
    src = torch.ones(1, 1, dtype=torch.long)
    one = greedy(Tree(), src, 3)[0].tolist()
    found = beam_search(Tree(), src, 3, width=2, alpha=0.0)
    two = ["".join(LETTERS[i] for i in ids) for ids in found.ids[0].tolist()]
    assert "".join(LETTERS[i] for i in one) == "AA."
    assert ch10_drawings.hypotheses(3, 1) == ["AA."]
    assert ch10_drawings.hypotheses(3, 2) == two == ["BC.", "AA."]
    totals = [ch10_drawings.log_p(words) for words in two]
    assert found.scores[0].tolist() == pytest.approx(totals, abs=1e-4)
