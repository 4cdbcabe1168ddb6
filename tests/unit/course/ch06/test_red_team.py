"""Six planted masks: what is shown is what the leak test finds."""

import pytest

from attnbook.course.ch06.explorer_red_team import (
    BUGS,
    CONTROLS,
    OPEN,
    PLANTED,
    found_by_influence,
    red_team_view,
)

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_crosses_and_rings_by_the_definition_of_each_mask():
    """i reads j, by hand: 3 words and 2 padding tokens."""
    allowed = {
        "no causal mask": lambda i, j: j < 3,
        "transposed": lambda i, j: j >= i and j < 3,
        "one too many": lambda i, j: j <= i + 1 and j < 3,
        "one too few": lambda i, j: j < i and j < 3,
        "no padding mask": lambda i, j: True,
        "padding as rows": lambda i, j: i < 3,
    }
    encoder = {"no padding mask", "padding as rows"}
    found = found_by_influence()
    assert list(found) == list(BUGS) == list(allowed)
    for name, may in allowed.items():
        for i in range(5):
            for j in range(5):
                wanted = j < 3 and (j <= i or name in encoder)
                sign = {(1, 0): "×", (0, 1): "○", (1, 1): "•", (0, 0): ""}
                key = int(may(i, j)), int(wanted)
                assert found[name][i][j] == sign[key], (name, i, j)


def test_each_bug_is_shown_and_only_its_own_name_is_right():
    assert sorted(PLANTED) == sorted(BUGS)
    for number, right in zip(CONTROLS["bug"].choices, PLANTED, strict=True):
        [chart] = red_team_view(number, OPEN).drawn
        assert chart.texts == found_by_influence()[right]
        for name in CONTROLS["verdict"].choices:
            said = red_team_view(number, name).said
            assert ("Yes, " in said) == (name == right)
            assert ("No. " in said) == (name not in (right, OPEN))
            assert name == OPEN or BUGS[name].sign in said
