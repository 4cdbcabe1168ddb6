"""What the kit refuses of page authors, and the key words of what it says then."""

import re

import pytest

from attnbook.course import check
from attnbook.course.kit.exercises.hints import Mistake, make_mistake
from attnbook.course.kit.exercises.stages import find_part
from attnbook.course.kit.explorers.shipped import LONGEST, checked_caption
from attnbook.course.kit.playground.setting import Setting


def double(y):
    return y * 2


TABLE = {
    "exercises": [
        (lambda: find_part("convolution"), "no part 'convolution'; "),
        (lambda: make_mistake((double,), Mistake([("z", "y")], "?")), "'z' stands 0"),
        (lambda: check("ex99_unknown", 3), "no exercise 'ex99_unknown'; "),
    ],
    "explorers": [
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
