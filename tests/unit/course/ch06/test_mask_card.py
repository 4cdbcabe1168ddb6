"""The mask card: the probes find what is known, and what is turned round."""

import pytest
import torch

from attnbook.course.ch06.mask_arguments import D, MaskArgument, find_convention
from attnbook.nn.scaled_dot_product import attention


def probe(look, marks=(True, False)):
    return MaskArgument("attnbook", "stand-in", "mask", marks, look)


def meaning(row):
    return row["attend"], row["hidden"], row["empty"]


def square(marks):
    return torch.tensor([marks] * len(marks))


def ours(x, marks):
    return attention(x, x, x, square(marks))[0]


def filled(x, marks, value):
    """Attention in which hidden scores are filled with a value, as others do it."""
    scores = (x @ x.T / D**0.5).masked_fill(~square(marks), value)
    return (scores.softmax(-1) @ x)[0]


def test_the_opposite_meaning_is_found_whichever_mark_is_tried_first():
    def opposite(x, marks):
        return ours(x, [not mark for mark in marks])

    for marks in ((True, False), (False, True)):
        for look, wanted in ((ours, ("True", "False")), (opposite, ("False", "True"))):
            assert meaning(find_convention(probe(look, marks))) == (*wanted, "zeros")


@pytest.mark.parametrize(("value", "empty"), [(-torch.inf, "NaN"), (-1e9, "the mean")])
def test_what_an_empty_row_gives_is_told_apart(value, empty):
    row = find_convention(probe(lambda x, marks: filled(x, marks, value)))
    assert meaning(row) == ("True", "False", empty)
