"""Chapter 8: exercises, and the page's own code at its edges."""

import math

import pytest
import torch
from notebook_cells import printed
from torch import nn

from attnbook.course.kit.exercises.short_exercises import find


def test_the_gradient_of_a_norm_is_that_of_autograd():
    x, g = torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(0)).double()
    x.requires_grad_()
    (right,) = torch.autograd.grad(nn.functional.layer_norm(x, (6,), eps=0), x, g)
    torch.testing.assert_close(find("ex8_norm_gradient").reference(x, g), right)


# The page's own code, at its edges


@pytest.mark.parametrize("numbers", [[300, -200, 100, 50], [0.01, -0.02, 0.01, 0]])
def test_the_norm_of_the_page_in_half_precision(numbers):
    x = torch.tensor(numbers).half()
    found = printed("ch08", "layer_norm")(x, torch.ones_like(x), torch.zeros_like(x))
    assert found.dtype == torch.float16
    assert torch.allclose(found, nn.functional.layer_norm(x, (4,)), atol=4e-3)


def test_the_entropy_of_shares_some_of_which_are_zero():
    entropy = printed("ch08", "entropy")
    for dtype in (torch.float16, torch.float32, torch.float64):
        shares = torch.tensor([[1, 0, 0, 0], [0.5, 0.5, 0, 0]], dtype=dtype)
        assert entropy(shares) == pytest.approx(math.log(2) / 2, rel=1e-3)
