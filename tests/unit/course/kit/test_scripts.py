"""Scripts become one attribute."""

import html
import json
import re

from attnbook.course.kit.widgets.figures import on_load


def test_the_attribute_is_one_line_without_comments_and_hands_over_values():
    attribute = on_load("attnbook.course.kit.widgets.stepper", words=["“a”", "<b>"])
    name, _, value = attribute.partition("=")
    assert name == " onload"
    assert not re.search(r"[<>]|\n|//", value)
    code = html.unescape(value.strip('"'))
    assert code.startswith("const start = (image) =>")
    handed = re.search(r"start\(this, (.*?)\); };", code)
    assert json.loads(handed[1]) == {"words": ["“a”", "<b>"]}
