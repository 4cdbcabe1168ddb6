from itertools import pairwise

import pytest

from attnbook.course.kit.colours import (
    COLOURS,
    TEXT_COLOURS,
    WEIGHTS,
    contrast,
    text_colour,
    tint,
)


def test_text_can_be_read_on_white():
    assert COLOURS.keys() == TEXT_COLOURS.keys()
    for colour in TEXT_COLOURS.values():
        assert contrast(colour) >= 4.5
    assert contrast("#000000") == pytest.approx(21)


def test_text_takes_the_darker_shade():
    assert text_colour("#d55e00") == "#B84A00"
    assert text_colour("black") == "#000000"
    assert contrast(text_colour("#56B4E9")) >= 4.5


def test_more_weight_is_darker_from_white_on():
    assert WEIGHTS(0.0)[:3] == (1, 1, 1)
    shades = [contrast(WEIGHTS(i / 20)[:3]) for i in range(21)]
    assert all(pale < dark for pale, dark in pairwise(shades))


def test_a_tint_is_so_pale_that_text_of_its_colour_can_be_read_on_it():
    for role, colour in COLOURS.items():
        assert contrast(TEXT_COLOURS[role]) / contrast(tint(colour)) >= 3.9
    assert tint("#000000") == "#DEDEDE"
