"""Residual connections: equal to their formula, and where they drop."""

import pytest
import torch
from compare import agree, close, double, numbers, plain, randomise
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.course.kit.exercises import by_formula
from attnbook.nn.block import Residual

small = st.integers(1, 4)
seeds = st.integers(0, 999)
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


@FORMS
@given(small, small, small, seeds)
@settings(max_examples=10)
def test_residual_equals_the_formula(norm_first, b, t, d, seed):
    add, norm = Residual(norm_first=norm_first), randomise(double(nn.LayerNorm, d))
    x, w = numbers(seed, (b, t, d), (d, d))
    ours = add(x, lambda y: torch.tanh(y @ w), norm)
    wanted = by_formula.residual(x, lambda y: torch.tanh(y @ w), norm, norm_first)
    agree(ours, wanted, [x, w, *norm.parameters()], 1e-10)


def test_dropout_takes_from_what_was_found_and_nothing_else():
    """Before the sum, so before the norm of post-norm."""
    torch.manual_seed(0)
    x = plain(0, 50, 20, 16)
    add, norm = Residual(0.3, norm_first=True), nn.LayerNorm(16).double()
    found = add(x, torch.ones_like, norm) - x
    dropped = found.abs() < 1e-9
    assert dropped.double().mean().item() == pytest.approx(0.3, abs=0.02)
    close(found[~dropped], torch.full_like(found[~dropped], 1 / 0.7), 1e-9)
    close(add(x, torch.zeros_like, norm), x)
    close(add.eval()(x, torch.ones_like, norm), x + 1)


def test_in_training_what_leaves_post_norm_is_normed():
    """Mean 0, deviation 1 and no zeros; the wrong way drops from the sum."""
    torch.manual_seed(0)
    x, norm = plain(0, 20, 10, 64), nn.LayerNorm(64).double()
    out = Residual(0.3)(x, lambda y: y.roll(1, -1), norm)
    close(out.mean(-1), torch.zeros(20, 10).double(), 1e-9)
    close(out.square().mean(-1), torch.ones(20, 10).double(), 1e-4)
    assert not (out == 0).any()
