"""The table that compares ours with a reference."""

import pytest
import torch

from attnbook.course.kit.equivalence import agreement_table


@pytest.fixture
def x():
    return torch.randn(3, 4, dtype=torch.float64, requires_grad=True)


def test_it_stops_at_what_does_not_agree(x):
    with pytest.raises(AssertionError, match="off, values: Tensor"):
        agreement_table({"off": (x, x + 1e-9, [x])})
    flat = (x - x.detach()) * 2 + x.detach()  # the same values, twice the gradient
    with pytest.raises(AssertionError, match="bent, gradients: Tensor"):
        agreement_table({"bent": (x * 1.0, flat, [x])})
    with pytest.raises(AssertionError, match="dtype"):
        agreement_table({"half": (x.float(), x, [x])})
    with pytest.raises(AssertionError, match="shape"):
        agreement_table({"row": (x[:1] * 0, 0 * x, [x])})


def test_zeros_agree_with_zeros():
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    agreement_table({"zeros": (0 * x, 0 * x, [x])})
