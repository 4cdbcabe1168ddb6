"""Charts as data: matplotlib draws them, and the page unpacks the same."""

import json
import random
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from attnbook.course.ch04 import explorer_queries_and_keys as queries_and_keys
from attnbook.course.kit.colours import COLOURS, SHADE
from attnbook.course.kit.explorers.charts import (
    Arrow,
    Arrows,
    Axis,
    Bars,
    Grid,
    Line,
    Lines,
    Map,
    Point,
    Series,
    Stages,
    as_data,
    numbers,
)
from attnbook.course.kit.explorers.drawn import figure_of
from attnbook.course.kit.explorers.packed import pack, script, settings_of
from attnbook.course.kit.explorers.views import View

ROOT = Path(__file__).resolve().parents[4]
LIVE = ROOT / "book" / "_static" / "live"

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def drawn(*charts, **layout):
    figure = figure_of(charts, **layout)
    figure.canvas.draw()
    return figure.axes


def test_lines_have_their_points_and_axes_their_ticks():
    y = Axis("gain", 1e-3, 1e3, (0.01, 1, 100), ("a", "b", "c"), log=True)
    chart = Lines(Axis("step", 0, 4, (0, 2, 4)), y, (Line((1, 10, 0.1)),))
    [ax] = drawn(chart)
    assert ax.get_lines()[0].get_xydata().tolist() == [[0, 1], [1, 10], [2, 0.1]]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "2", "4"]
    assert (ax.get_yscale(), ax.get_ylim()) == ("log", (1e-3, 1e3))
    assert as_data(chart)["x"]["names"] == ("0", "2", "4")


def test_points_lie_in_front_of_lines_and_those_with_a_letter_in_front_of_all():
    points = (Point(3, 2, "f", "source"), Point(1, 1, colour="target"))
    axis = Axis("", 0, 4)
    [ax] = drawn(Lines(axis, axis, (Line((1, 1, 2, 2)),), points=points))
    _, *dots = ax.get_lines()
    places = [dot.get_xydata().tolist() for dot in dots]
    assert places == [[[1, 1]], [[3, 2]]]
    assert [text.get_text() for text in ax.texts] == ["", "f"]
    assert [dot.get_color() for dot in dots] == [COLOURS["target"], COLOURS["source"]]


def test_a_shorter_last_row_of_charts_takes_the_whole_width():
    lines = Lines(Axis("", 0, 1), Axis("", 0, 1), (Line((0, 1)),), height=100)
    tall = replace(lines, height=300)
    axes = drawn(lines, tall, lines, lines, columns=3)
    boxes = [ax.get_position() for ax in axes]
    assert len({round(box.y0, 3) for box in boxes[:3]}) == 1
    assert boxes[3].y1 < boxes[0].y0
    assert boxes[3].x0 == pytest.approx(boxes[0].x0)
    assert boxes[3].x1 == pytest.approx(boxes[2].x1)
    assert View("", (lines, tall, lines, lines), "", columns=3).height == 400


@pytest.mark.parametrize("across", [False, True])
def test_bars_stand_beside_each_other(across):
    series = (Series((1, -2), "key"), Series((3, float("nan")), "value", pale=True))
    look = {"across": across, "notes": ("one", "two")}
    [ax] = drawn(Bars(("a", "b"), Axis("n", -3, 5), series, **look))
    boxes = [patch.get_bbox() for patch in ax.patches]
    along = ("y0", "y1") if across else ("x0", "x1")
    up = ("x0", "x1") if across else ("y0", "y1")
    ends = [[getattr(box, side) for side in up] for box in boxes]
    assert ends == [[0, 1], [0, -2], [0, 3], [0, 0]]
    middles = [np.mean([getattr(box, side) for side in along]) for box in boxes]
    assert middles == pytest.approx([-0.2, 0.8, 0.2, 1.2])
    assert [text.get_text() for text in ax.texts] == ["one", "two"]


def test_maps_and_arrows_are_drawn_beside_each_other():
    cells = ((0.25, 0.75), (1, 0))
    roles, labels = ("target", "source"), ("query", "key")
    weights = Map(("x", "y"), ("a", "b"), cells, roles, labels, ((1, 0),))
    left, right = drawn(weights, Arrows(3.75, (Arrow("k₁", 1, 2, "key"),)), columns=2)
    assert left.collections[0].get_array().tolist() == [list(row) for row in cells]
    [frame] = left.patches
    assert frame.get_xy() == (0, 1)
    assert frame.get_edgecolor() == pytest.approx(
        plt.matplotlib.colors.to_rgba(COLOURS["target"])
    )
    tip, name = right.texts
    assert tip.xy == (1, 2)
    assert name.get_text() == "$k_1$"
    assert name.get_position() > (1, 2)


def test_a_map_may_have_texts_and_cells_that_are_grey():
    cells, texts = ((0.5, None), (0, 1)), (("0.50", ""), ("0.00", "1.00"))
    roles, labels = ("target", "source"), ("query", "key")
    chart = Map(("x", "y"), ("a", "b"), cells, roles, labels, texts=texts)
    [ax] = drawn(chart)
    shown = ax.collections[0].get_array()
    assert shown.mask.tolist() == [[False, True], [False, False]]
    assert plt.matplotlib.colors.to_hex(ax.get_facecolor()) == SHADE.lower()
    found = {text.get_position(): text.get_text() for text in ax.texts}
    assert found == {(0.5, 0.5): "0.50", (0.5, 1.5): "0.00", (1.5, 1.5): "1.00"}
    assert as_data(chart)["cells"] == cells


def test_stages_and_signed_vectors_are_drawn():
    columns = (("norm", "sum"), ("output",))
    cells = ((1.0, -2.0), (0.0, 0.5))
    grid = Grid(("a", "b"), cells, 2.0, "2 features", "source", 1)
    path, vectors = drawn(Stages(columns, ("up", "down"), (0, 1)), grid, columns=2)
    texts = [text.get_text() for text in path.texts]
    assert texts == ["up", "norm", "sum", "down", "output"]
    lit = [plt.matplotlib.colors.to_hex(box.get_facecolor()) for box in path.patches]
    assert lit == ["#ffffff", COLOURS["key"].lower(), "#ffffff"]
    assert vectors.collections[0].get_array().tolist() == [list(row) for row in cells]
    assert vectors.patches[0].get_xy() == (0, 1)


def test_four_digits_are_kept():
    assert numbers([123456, 0.00123456, -0.0]) == (123500, 0.001235, 0)


# Packing

NODE = f"""
const window = globalThis;
window.attnbook = {{}};
const document = {{ currentScript: {{ src: "" }}, querySelectorAll: () => [] }};
const fs = require("fs");
const run = (text) => new Function("window", "document", "attnbook", text)(
  window, document, window.attnbook);
run(fs.readFileSync({str(LIVE / "explorers.js")!r}, "utf8"));
const [code, asked] = JSON.parse(fs.readFileSync(0, "utf8"));
run(code);
const views = asked.map((places) => attnbook.explorers.view("tried", places));
console.log(JSON.stringify(views));
"""


def unpacked(code, places):
    """What the page's script makes of data, at some settings."""
    asked = json.dumps([code, places])
    run = subprocess.run(
        ["node", "-e", NODE], input=asked, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def test_the_page_unpacks_what_python_computed():
    controls = queries_and_keys.CONTROLS
    of = [len(control.choices) for control in controls.values()]
    code = script("tried", queries_and_keys.on_page, controls)
    every = [*zip(product(*map(range, of)), settings_of(controls), strict=True)]
    some = random.Random(0).sample(every, 100)
    places = [[*zip(place, of, strict=True)] for place, _ in some]
    wanted = [queries_and_keys.on_page(**settings).as_data() for _, settings in some]
    assert unpacked(code, places) == json.loads(json.dumps(wanted))


def test_values_are_packed_once_by_columns_or_as_they_are():
    assert pack([3, 3]) == ["=", 3]
    assert pack([1, 2] * 4) == ["?", [1, 2], [0, 1] * 4]
    assert pack([[1, 2], [1, 3]]) == ["[", [["=", 1], ["-", [2, 3]]]]
    assert pack([{"a": 1}, {"a": None}]) == ["{", {"a": ["-", [1, None]]}]
    assert pack([[1], [2, 3]]) == ["-", [[1], [2, 3]]]
    assert pack([None, [2]]) == ["-", [None, [2]]]
