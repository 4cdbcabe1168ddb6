import math
import re
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from attnbook.course.ch01 import drawings as ch01
from attnbook.course.ch02 import drawings as ch02
from attnbook.course.ch03 import drawings as ch03
from attnbook.course.kit.colours import COLOURS, DARK_GREY
from attnbook.course.kit.drawings.diagram import Diagram
from attnbook.course.kit.drawings.labels import over_arrow

SOURCE = ["the", "old", "farmer", "sees", "a", "bird"]
TARGET = ["maron", "velin", "ken", "lipas", "dos", "mirat"]
SVG = "{http://www.w3.org/2000/svg}"
BLUE, ORANGE, GREY = COLOURS["source"], COLOURS["target"], DARK_GREY


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


def boxes(diagram, colour=None):
    """The boxes of a drawing, all or those with a line of one colour."""
    _, *found = root_of(diagram).iter(f"{SVG}rect")
    areas = []
    for box in found:
        x, y, width, height = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        if colour in (None, box.get("stroke")):
            areas.append(Area("box", x, y, x + width, y + height))
    return areas


def named_boxes(diagram):
    """The boxes of a drawing by the labels in them."""
    texts = labels(diagram)
    return {
        " ".join(text.name for text in texts if box.holds(text, slack=4)): box
        for box in boxes(diagram)
    }


def tips(diagram, colour):
    """Where the arrows of one colour point."""
    paths = root_of(diagram).iter(f"{SVG}path")
    return [
        tuple(map(float, re.match(r"M(-?[\d.]+),(-?[\d.]+)", path.get("d")).groups()))
        for path in paths
        if path.get("fill") == colour
    ]


def bars(diagram):
    """The lengths of the bars of a drawing, from the top to the bottom."""
    found = []
    for path in root_of(diagram).iter(f"{SVG}path"):
        edges = re.fullmatch(r"M([\d.]+),([\d.]+) H([\d.]+) V[\d.]+ .*", path.get("d"))
        if edges and path.get("fill") == GREY:
            left, top, right = map(float, edges.groups())
            found.append((top, right - left))
    return [length for _, length in sorted(found)]


def reached(area, points, gap=4):
    """How many points touch the edge of an area, as the tip of an arrow does."""
    return sum(
        area.left - gap < x < area.right + gap
        and area.top - gap < y < area.bottom + gap
        for x, y in points
    )


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
    for area in labels(diagram) + boxes(diagram):
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


@pytest.mark.parametrize("draw", [ch01.unrolled, ch01.static_context])
def test_every_token_and_state_of_both_sentences_is_drawn(draw):
    diagram = draw(SOURCE, TARGET)
    shown = [text.name for text in labels(diagram)]
    assert [t for t in shown if t in {*SOURCE}] == SOURCE
    for token in TARGET:
        assert shown.count(token) == 2  # an output, and the next step's input
    assert (shown.count("<bos>"), shown.count("<eos>")) == (1, 2)
    for j in range(1, 8):
        assert shown.count(f"h{j}") == 2  # both directions
    assert [t for t in shown if re.fullmatch(r"s\d", t)] == [f"s{t}" for t in range(8)]
    assert shown.count("c") == 1


def test_outputs_stand_above_the_states_and_inputs_below_them():
    diagram = ch01.unrolled(SOURCE, TARGET)
    states = boxes(diagram, ORANGE)[1:]
    top, bottom = states[0].top, states[0].bottom
    inputs = [t.name for t in labels(diagram) if t.top > bottom]
    outputs = [t for t in labels(diagram) if t.name in {*TARGET, "<eos>"}]
    assert inputs[:7] == ["<bos>", *TARGET]
    assert [t.name for t in outputs if 150 < t.bottom < top] == [*TARGET, "<eos>"]


def test_one_thick_arrow_is_the_only_link_of_the_unrolled_model():
    diagram = ch01.unrolled(SOURCE, TARGET)
    points = tips(diagram, BLUE)
    assert [reached(box, points) for box in boxes(diagram, ORANGE)] == [1] + 7 * [0]
    widths = [path.get("stroke-width") for path in root_of(diagram).iter(f"{SVG}path")]
    assert widths.count("5") == 1


def test_the_static_context_reaches_every_state_and_every_output():
    diagram = ch01.static_context(SOURCE, TARGET)
    points = tips(diagram, BLUE)
    assert [reached(box, points) for box in boxes(diagram, ORANGE)] == 8 * [1]
    outputs = [t for t in labels(diagram) if t.name in {*TARGET, "<eos>"}]
    assert sum(reached(t, points, gap=6) for t in outputs if t.top > 150) == 7


@pytest.mark.parametrize("draw", [ch01.unrolled, ch01.static_context])
def test_both_last_states_of_the_encoder_lead_to_c(draw):
    diagram = draw(SOURCE, TARGET)
    assert reached(named_boxes(diagram)["c"], tips(diagram, BLUE)) == 2


def test_a_sentence_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="source has 0 words: give 1 to 6"):
        ch01.unrolled([], TARGET)
    with pytest.raises(ValueError, match="target has 7 words"):
        ch01.static_context(SOURCE, [*TARGET, "ozit"])


def test_the_reset_gate_follows_the_product_with_the_old_state():
    diagram = ch01.gru_cell()
    named = named_boxes(diagram)
    assert {"hj−1", "hj", "Uh", "Wh", "tanh", "reset σ", "update σ"} == set(named)
    signs = [
        (float(circle.get("cx")), float(circle.get("cy")))
        for circle in root_of(diagram).iter(f"{SVG}circle")
    ]
    row = sorted(x for x, y in signs if y > 100)
    assert named["Uh"].right < row[0] < row[1] < named["tanh"].left
    assert named["reset σ"].left < row[0] < named["reset σ"].right
    assert {"rj", "zj", "1−zj", "candidate h̃j"} <= {t.name for t in labels(diagram)}


def test_the_state_passes_a_product_and_a_sum_on_its_way():
    diagram = ch01.gru_cell()
    shown = root_of(diagram).iter(f"{SVG}circle")
    top = [float(circle.get("cx")) for circle in shown if circle.get("cy") == "46"]
    blue, grey = tips(diagram, BLUE), tips(diagram, GREY)
    keep, mix = (Area("sign", x - 11, 35, x + 11, 57) for x in sorted(top))
    assert (reached(keep, blue), reached(keep, grey)) == (1, 1)  # h_{j-1} and z_j
    assert (reached(mix, blue), reached(mix, grey)) == (2, 0)


def test_a_fork_branches_where_the_last_arrow_bends():
    d = Diagram(200, 100, alt="Two arrows leave a line.")
    d.fork((10, 50), [(60, 10), (110, 90)], role="source")
    starts = [
        path.get("d").split()[0]
        for path in root_of(d).iter(f"{SVG}path")
        if path.get("stroke") == BLUE
    ]
    assert starts == ["M10,50", "M52,50"]
    assert tips(d, BLUE) == [(60, 12), (110, 88)]


def test_a_bar_is_as_long_as_told_and_as_high():
    d = Diagram(100, 100, alt="A bar.")
    d.bar(10, 50, 40, height=20)
    (bar,) = root_of(d).iter(f"{SVG}path")
    assert bar.get("d") == "M10,40 H50 V60 H10 Z"
    assert bars(d) == [40]


def test_a_hard_read_takes_one_state_and_a_soft_read_takes_all():
    diagram = ch02.soft_memory()
    named = named_boxes(diagram)
    points = tips(diagram, BLUE)
    assert reached(named["ct"], points) == 5
    chosen = [box for box in boxes(diagram) if box.right < 100]
    assert [reached(box, points) for box in chosen] == [1]
    assert {"no gradient", "the weights have a gradient"} <= {
        text.name for text in labels(diagram)
    }


def test_the_bars_of_a_soft_read_are_its_weights():
    diagram = ch02.soft_memory()
    weights = [float(t.name) for t in labels(diagram) if t.name.startswith("0.")]
    assert sum(weights) == pytest.approx(1)
    lengths = bars(diagram)
    assert [x / sum(lengths) for x in lengths] == pytest.approx(weights)


def test_the_old_state_and_a_state_of_the_encoder_reach_every_score():
    diagram = ch02.bahdanau_step()
    named = named_boxes(diagram)
    for j in range(1, 8):
        score, weight = named[f"et{j}"], named[f"αt{j}"]
        assert reached(score, tips(diagram, ORANGE)) == 1
        assert reached(score, tips(diagram, BLUE)) == 1
        assert reached(named["softmax"], tips(diagram, GREY)) == 7
        assert reached(weight, tips(diagram, GREY)) == 1
        assert score.left == weight.left


def test_context_old_state_and_last_token_make_the_new_state():
    diagram = ch02.bahdanau_step()
    named = named_boxes(diagram)
    blue, orange, grey = (tips(diagram, colour) for colour in (BLUE, ORANGE, GREY))
    context = named["ct = Σj αtj hj"]
    assert (reached(context, grey), reached(context, blue)) == (7, 1)
    assert (reached(named["st"], blue), reached(named["st"], orange)) == (1, 2)
    assert (reached(named["readout"], blue), reached(named["readout"], orange)) == (
        1,
        2,
    )
    order = ["readout", "st", "ct = Σj αtj hj", "αt1", "softmax", "et1"]
    tops = [named[name].top for name in order]
    assert tops == sorted(tops)  # read from below


def column(diagram, left, right):
    """The labels of the boxes in a strip of a drawing, from the bottom to the top."""
    found = [
        (box.top, name)
        for name, box in all_named(diagram)
        if left < box.left and box.right < right
    ]
    return [name for _, name in sorted(found, reverse=True)]


def all_named(diagram):
    """The boxes of a drawing with their labels, which may be there twice."""
    texts = labels(diagram)
    for box in boxes(diagram):
        yield " ".join(t.name for t in texts if box.holds(t, slack=4)), box


def test_bahdanau_attends_before_the_update_and_luong_after_it():
    diagram = ch03.two_orders()
    assert column(diagram, 100, 180) == ["st−1", "αt", "ct", "st"]
    assert column(diagram, 360, 440) == ["st−1", "st", "αt", "ct", "h̃t"]


def test_both_orders_are_drawn_with_the_same_letters():
    diagram = ch03.two_orders()
    bahdanau = {t.name for t in labels(diagram) if t.right < 250}
    luong = {t.name for t in labels(diagram) if t.left > 250}
    letters = {"attention", "st−1", "yt−1", "hj", "αt", "ct", "st", "yt"}
    assert bahdanau - luong == {"Bahdanau", "attend, then update"}
    assert luong - bahdanau == {"Luong", "update, then attend", "h̃t"}
    assert letters == bahdanau & luong


def test_what_follows_the_attention_also_reads_the_state_before_it():
    diagram = ch03.two_orders()
    blue, orange, grey = (tips(diagram, colour) for colour in (BLUE, ORANGE, GREY))
    entering = {
        (name, box.left < 250): tuple(
            reached(box, points) for points in (blue, orange, grey)
        )
        for name, box in all_named(diagram)
    }
    assert entering["st", True] == (1, 2, 0)  # c_t; s_{t-1} and y_{t-1}
    assert entering["h̃t", False] == (1, 1, 0)  # c_t; s_t
    assert entering["st", False] == (0, 2, 0)
    for side in (True, False):
        assert entering["αt", side] == (1, 1, 0)
        assert entering["ct", side] == (1, 0, 1)


def test_the_attentional_state_is_read_from_below():
    diagram = ch03.attentional_state()
    assert column(diagram, 90, 300)[2:] == ["[ct; st]", "tanh Wc", "h̃t", "Wo"]
    shapes = [t for t in labels(diagram) if "(B" in t.name]
    upwards = sorted(shapes, key=lambda t: -t.top)
    assert [t.name for t in upwards] == [
        *("(B, H)", "(B, H)", "(B, 2H)", "(B, H)", "(B, H)", "logits (B, V)"),
    ]


def test_input_feeding_is_the_one_dashed_edge_to_the_next_state():
    diagram = ch03.attentional_state()
    dashed = [
        path.get("d")
        for path in root_of(diagram).iter(f"{SVG}path")
        if path.get("stroke-dasharray") and path.get("stroke") == ORANGE
    ]
    named = named_boxes(diagram)
    start = tuple(map(float, re.match(r"M([\d.]+),([\d.]+)", dashed[0]).groups()))
    assert len(dashed) == 1
    assert reached(named["h̃t"], [start]) == 1
    assert reached(named["st+1"], tips(diagram, ORANGE)) == 3  # with s_t and y_t
