"""How large untrained scores are: by the formulas of their initial weights."""

import pytest
import torch

from attnbook.analysis.scores import score_spreads

WIDTHS = (4, 64, 256)


def test_spreads_are_those_of_the_formulas():
    """PyTorch starts a matrix uniformly within 1/√width: variance 1/(3 width)."""
    state = torch.get_rng_state()
    spreads = score_spreads(("dot", "general", "concat"), WIDTHS)
    assert torch.equal(torch.get_rng_state(), state)
    for width, dot, general, concat in zip(WIDTHS, *spreads.values(), strict=True):
        assert dot == pytest.approx(width**0.5, rel=0.05)
        assert general == pytest.approx((width / 3) ** 0.5, rel=0.12)
        assert 0.2 < concat < 0.5  # bounded by tanh: no growth


def test_the_seed_decides():
    usual, same, other = (score_spreads(["dot"], (4,), 2, *s) for s in ((), (0,), (1,)))
    assert usual == same != other
