"""Masks: who may be used, and the softmax over the allowed places, from its formula."""

from itertools import product

import pytest
import torch
from compare import close, numbers, same, some_allowed
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import (
    causal_mask,
    key_mask,
    masked_softmax,
    padding_mask,
    target_mask,
)
from attnbook.nn.scaled_dot_product import attention

small = st.integers(1, 5)
seeds = st.integers(0, 999)


def softmax_by_loop(scores, mask):
    """Bahdanau's equation 6, one number at a time, over the allowed places alone."""
    weights = 0 * scores  # keeps the gradient's path where every row is empty
    mask = mask.expand(scores.shape)
    for row in product(*map(range, scores.shape[:-1])):
        allowed = [s for s in range(scores.shape[-1]) if mask[(*row, s)]]
        total = sum(scores[(*row, s)].exp() for s in allowed)
        for s in allowed:
            weights[(*row, s)] = scores[(*row, s)].exp() / total
    return weights


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1))
def test_padding_mask_is_true_at_real_tokens(rows):
    mask = padding_mask(torch.tensor(rows))
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[i != PAD for i in row] for row in rows]
    assert torch.equal(key_mask(torch.tensor(rows)), mask[:, None, None])


@given(small, small, st.integers(0, 4))
def test_a_causal_mask_allows_what_is_not_later(t, s, offset):
    mask = causal_mask(t, s, offset)
    wanted = [[j <= offset + i for j in range(s)] for i in range(t)]
    assert mask.dtype is torch.bool
    assert mask.tolist() == wanted
    assert causal_mask(t, offset=offset).shape == (t, offset + t)


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1))
def test_a_target_mask_hides_what_is_later_and_what_is_a_pad(rows):
    """Both, wherever the pads stand."""
    mask = target_mask(torch.tensor(rows))
    assert mask.shape == (len(rows), 1, 3, 3)
    assert mask.dtype is torch.bool
    for ids, matrix in zip(rows, mask[:, 0].tolist(), strict=True):
        wanted = [[j <= i and ids[j] != PAD for j in range(3)] for i in range(3)]
        assert matrix == wanted


@given(small, small, small, seeds)
@settings(max_examples=25)
def test_masked_softmax_equals_the_loop(rows, steps, places, seed):
    """Rows in which nothing is allowed are among the random ones."""
    (scores,) = numbers(seed, (rows, steps, places))
    mask = some_allowed(seed, rows, steps, places + 1)[..., 1:]
    same(masked_softmax(scores, mask), softmax_by_loop(scores, mask), [scores])


@pytest.mark.parametrize("hidden", [torch.nan, torch.inf, -torch.inf, 1e300])
def test_the_score_of_a_forbidden_place_does_not_matter(hidden):
    (scores,) = numbers(0, (2, 3, 4))
    mask = some_allowed(1, 2, 3, 4)
    mask[0, 0] = False
    dirty = scores.detach().masked_fill(~mask, hidden).requires_grad_()
    weights = masked_softmax(dirty, mask)
    assert (weights[~mask] == 0).all()
    close(weights, masked_softmax(scores, mask))
    (gradient,) = torch.autograd.grad(weights.square().sum(), dirty)
    assert gradient.isfinite().all()
    assert (gradient[~mask] == 0).all()
    assert gradient[mask].any()


# What is no boolean mask

CAUSAL = torch.ones(4, 4).tril()
ADDED = torch.zeros(4, 4).masked_fill(CAUSAL == 0, -torch.inf)


@pytest.mark.parametrize(
    "added",
    [
        nn.Transformer.generate_square_subsequent_mask(4),
        ADDED.half(),
        ADDED.double().nan_to_num(neginf=-1e9),
        ADDED.nan_to_num(),  # the lowest number of float32
        ADDED.nan_to_num(neginf=-10_000).long(),
        torch.zeros(4, 4),  # nothing is hidden
    ],
)
def test_the_advice_for_a_mask_that_is_added_is_right(added):
    q = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match=f"type {added.dtype}; .*mask == 0") as error:
        attention(q, q, q, added)
    assert "mask.bool()" not in str(error.value)
    theirs = F.scaled_dot_product_attention(q, q, q, added.float())
    close(attention(q, q, q, added == 0), theirs, 1e-6)


@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.float32, torch.half])
def test_the_advice_for_ones_and_zeros_is_right(kind):
    """Of the tokenizers of other libraries, and of ``tril``."""
    q, ones = torch.ones(4, 8), CAUSAL.to(kind)
    with pytest.raises(ValueError, match=rf"type {kind}; .*mask.bool\(\)") as error:
        attention(q, q, q, ones)
    assert "mask == 0" not in str(error.value)
    assert torch.equal(ones.bool(), causal_mask(4))
