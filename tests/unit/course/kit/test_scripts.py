"""Modules of JavaScript become one attribute."""

import html
import json
import re
from pathlib import Path

import pytest

from attnbook import course
from attnbook.course.kit.widgets.scripts import bundle, on_load, script_file

COURSE = Path(course.__file__).parent
FIGURES = ("explorer", "stepper", *(p.stem for p in COURSE.glob("ch*/*.js")))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_gets_what_it_imports_once_and_before_it(name):
    code = bundle(name)
    defined = re.findall(r"^const (\w+) =", code, re.MULTILINE)
    assert defined[-1] == "start"
    assert len(defined) == len(set(defined))
    imported = re.findall(r"import \{ ([\w, ]+) \}", script_file(name).read_text())
    assert {word for names in imported for word in names.split(", ")} <= set(defined)
    assert not re.search(r"\b(import|export)\b|//", code)


def test_every_module_is_part_of_a_figure():
    bundles = "".join(map(bundle, FIGURES))
    for path in COURSE.rglob("*.js"):
        (first, *_) = re.findall(r"^export const (\w+)", path.read_text(), re.MULTILINE)
        assert f"const {first} =" in bundles, path.name


def test_the_attribute_is_one_line_and_hands_over_values():
    attribute = on_load("stepper", words=["“a”", "<b>"], n=1.5)
    name, _, value = attribute.partition("=")
    assert name == " onload"
    assert "\n" not in value
    assert not re.search("[<>]", value)
    handed = re.search(
        r"start\(this, (.*?)\); if \(document", html.unescape(value.strip('"'))
    )
    assert json.loads(handed[1]) == {"words": ["“a”", "<b>"], "n": 1.5}


def test_a_script_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no script calculators\.js"):
        on_load("calculators")
