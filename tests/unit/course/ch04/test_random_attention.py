"""Attention between random queries and keys."""

from itertools import islice

import pytest
import torch

from attnbook.course.ch04.lab import (
    query_gradients,
    random_pairs,
    random_scores,
)


@pytest.mark.parametrize("d_k", [4, 64])
def test_scores_spread_like_the_root_of_the_width(d_k):
    state = torch.get_rng_state()
    scores = random_scores(d_k)
    assert torch.equal(torch.get_rng_state(), state)
    assert scores.shape == (500, 32)
    assert scores.std().item() == pytest.approx(d_k**0.5, rel=0.05)
    q, k = random_pairs(d_k)
    assert scores[7, 5].item() == pytest.approx((q[7, 0] @ k[7, 5]).item(), abs=1e-4)


@pytest.mark.parametrize(("d_k", "scale"), [(4, 1.0), (8, 0.25)])
def test_query_gradients_are_those_of_autograd(d_k, scale):
    found = query_gradients(d_k, scale)
    assert found.shape == (500,)
    pairs = zip(found, *random_pairs(d_k), strict=True)
    for size, q, k in islice(pairs, 5):
        jacobian = torch.autograd.functional.jacobian(
            lambda x, k=k: (scale * k @ x).softmax(0), q[0]
        )  # (32, d_k)
        assert size.item() == pytest.approx(jacobian.norm().item(), rel=1e-4)
