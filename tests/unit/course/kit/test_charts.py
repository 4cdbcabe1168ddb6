"""Charts as data: the page unpacks what was packed. nbval compares the pictures."""

import json
import random
from itertools import product
from pathlib import Path

from node import told_by_node

from attnbook.course.ch04 import explorer_queries_and_keys as queries_and_keys
from attnbook.course.kit.explorers.charts import numbers
from attnbook.course.kit.explorers.packed import script, settings_of

ROOT = Path(__file__).resolve().parents[4]
LIVE = ROOT / "book" / "_static" / "live"


def test_four_digits_are_kept():
    assert numbers([123456, 0.00123456, -0.0]) == (123500, 0.001235, 0)


# Packing

UNPACKED = f"""
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
    return told_by_node("-e", UNPACKED, given=json.dumps([code, places]))


def test_the_page_unpacks_what_python_computed():
    controls = queries_and_keys.CONTROLS
    of = [len(control.choices) for control in controls.values()]
    code = script("tried", queries_and_keys.query_view, controls)
    every = [*zip(product(*map(range, of)), settings_of(controls), strict=True)]
    some = random.Random(0).sample(every, 100)
    places = [[*zip(place, of, strict=True)] for place, _ in some]
    wanted = [queries_and_keys.query_view(**settings).as_data() for _, settings in some]
    assert unpacked(code, places) == json.loads(json.dumps(wanted))
