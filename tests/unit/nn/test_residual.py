"""A residual connection and its norm: equal to the formula in both forms."""

import pytest
import torch
from compare import agree, close, double, numbers, randomise
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.course.kit.exercises import by_formula
from attnbook.nn.residual import Residual

small = st.integers(1, 4)
seeds = st.integers(0, 999)
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def plain(seed, *shape):
    return numbers(seed, shape)[0].detach()


@FORMS
@given(small, small, small, seeds)
@settings(max_examples=10)
def test_residual_equals_the_formula(norm_first, b, t, d, seed):
    add = randomise(double(Residual, d, norm_first=norm_first)).train()
    x, w = numbers(seed, (b, t, d), (d, d))
    ours = add(x, lambda y: torch.tanh(y @ w))
    wanted = by_formula.residual(x, lambda y: torch.tanh(y @ w), add.norm, norm_first)
    agree(ours, wanted, [x, w, *add.parameters()], 1e-10)


@FORMS
def test_a_residual_calls_its_sublayer_once(norm_first):
    add, calls = Residual(4, norm_first=norm_first), []
    add(torch.ones(1, 2, 4), lambda y: calls.append(y) or y)
    assert len(calls) == 1


def test_pre_norm_leaves_the_way_free_and_post_norm_does_not():
    x = plain(0, 2, 5, 8) * 3
    free, normed = double(Residual, 8, norm_first=True), double(Residual, 8)
    assert torch.equal(free(x, torch.zeros_like), x)
    close(normed(x, torch.zeros_like), F.layer_norm(x, (8,)))


def test_dropout_takes_from_what_was_found_and_nothing_else():
    """Before the sum, so before the norm of post-norm."""
    torch.manual_seed(0)
    x = plain(0, 50, 20, 16)
    add = double(Residual, 16, 0.3, norm_first=True)
    found = add(x, torch.ones_like) - x
    dropped = found.abs() < 1e-9
    assert dropped.double().mean().item() == pytest.approx(0.3, abs=0.02)
    close(found[~dropped], torch.full_like(found[~dropped], 1 / 0.7), 1e-9)
    close(add(x, torch.zeros_like), x)
    close(add.eval()(x, torch.ones_like), x + 1)


def test_in_training_what_leaves_post_norm_is_normed():
    """Mean 0, deviation 1 and no zeros; the wrong way drops from the sum."""
    torch.manual_seed(0)
    x, add = plain(0, 20, 10, 64), double(Residual, 64, 0.3)
    out = add(x, lambda y: y.roll(1, -1))
    close(out.mean(-1), torch.zeros(20, 10).double(), 1e-9)
    close(out.square().mean(-1), torch.ones(20, 10).double(), 1e-4)
    assert not (out == 0).any()
    wrong = F.dropout(F.layer_norm(x + x.roll(1, -1), (64,)), 0.3)
    assert (wrong == 0).double().mean().item() == pytest.approx(0.3, abs=0.02)
    assert (wrong.std(-1, correction=0).mean() - 1) > 0.1
