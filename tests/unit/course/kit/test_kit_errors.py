"""What the kit refuses of page authors, and the key words of what it says then."""

import re

import matplotlib.pyplot as plt
import pytest
import torch

from attnbook.course import check, show_source, stepper
from attnbook.course.ch01.drawings import unrolled
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.drawings.diagram import Diagram
from attnbook.course.kit.drawings.labels import tspans
from attnbook.course.kit.drawings.linked import LinkedDiagram
from attnbook.course.kit.drawings.shapes import Box
from attnbook.course.kit.equivalence import agreement_table
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.hints import Mistake, make_mistake, read_hints
from attnbook.course.kit.exercises.stages import find_part
from attnbook.course.kit.explorers.controls import Menu, Slider
from attnbook.course.kit.explorers.shipped import LONGEST, checked_caption
from attnbook.course.kit.html_tables import Column, table
from attnbook.course.kit.names import name_of
from attnbook.course.kit.playground.setting import Setting

x = torch.ones(3, dtype=torch.float64, requires_grad=True)


def draw():
    return Diagram(100, 100, alt="Nothing.")


def steps(*sizes, captions=("a", "b", "c"), **changes):
    """A stepper through empty figures."""
    figures = [plt.figure(figsize=(size, 1)) for size in sizes]
    given = {"captions": captions, "label": "Step", "caption": "It grows."} | changes
    return stepper(figures, **given)


def double(y):
    return y * 2


TABLE = {
    "drawings": [
        (lambda: tspans("$h_{1$", 16), "formula"),
        (lambda: draw().box("h", 10, 10, role="sauce"), "role 'sauce': choose one of"),
        (lambda: draw().arrow((0, 0)), "1 stops"),
        (lambda: Diagram(10, 100, alt=""), "alt is empty"),
        (lambda: unrolled([], ["maron"]), "source has 0 words: give 1 to 6"),
        (
            lambda: LinkedDiagram(9, 9, alt="x").link(Box(5, 5, 2, 2), "", "chapter 1"),
            "give an address and a name",
        ),
    ],
    "tables and figures": [
        (lambda: table(["row", "x"], [("b", 1), ("a",)]), "has 1 cells; give one for"),
        (lambda: table(["model", "post_norm"], [("a", 1)]), "is a name of the code"),
        (lambda: table(["model", "x"], [("initial_state_longer", 1)]), "is a name of"),
        (lambda: table(["row", Column(" ")], [("a", 1)]), "has no heading: name it"),
        (lambda: steps(), "0 figures given"),
        (lambda: steps(2, 2, captions=["a"]), "2 figures, but 1 captions"),
        (lambda: steps(2, 2, 2, alts=["a"]), "3 figures, but 1 alts"),
        (lambda: steps(2, 2, 2, caption=""), "empty text in caption"),
        (lambda: steps(2, 2, 3), "different sizes"),
        (lambda: label_lines(plt.figure().add_subplot()), "no line has a label"),
        (lambda: show_source(torch.nn.GRU), "is not a class or function of attnbook"),
        (lambda: show_source("Encoder"), "is not a class or function of attnbook"),
        (lambda: name_of("static_middle"), "'static_middle' has no name for a reader"),
        (
            lambda: agreement_table({"square": (x * x, (x * x).float(), [x])}),
            "torch.float64 (3,) with torch.float32",
        ),
    ],
    "exercises": [
        (lambda: find_part("convolution"), "no part 'convolution'; "),
        (lambda: read_hints("A.\n\na => b"), "an edit or its hint is missing"),
        (lambda: read_hints("A.\n\n=> b\n    Why?"), "is neither an edit nor"),
        (lambda: make_mistake((double,), Mistake([("z", "y")], "?")), "'z' stands 0"),
        (lambda: check("ex99_unknown", 3), "no exercise 'ex99_unknown'; "),
        (lambda: wrong(double, "Not so.", 3), "the last answer, 3, has no hint"),
        (lambda: wrong("ab", "cd", "Why?"), "'cd' is no hint"),
    ],
    "explorers": [
        (lambda: Slider("length", 1, 6, 7), "'length' starts at 7, outside 1 to 6"),
        (lambda: Menu("way", ("a", "b"), "c"), "'way' starts with 'c'"),
        (lambda: Setting(heads=3), "heads is 3: choose among 1, 2, 4"),
        (lambda: checked_caption("  "), "the caption is empty; type"),
        (lambda: checked_caption("dog " * (LONGEST + 1)), f"has {LONGEST + 1} subword"),
    ],
}


@pytest.mark.parametrize(
    ("call", "words"), [case for cases in TABLE.values() for case in cases]
)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
    plt.close("all")
