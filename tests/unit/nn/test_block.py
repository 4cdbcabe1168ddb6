"""Residual connections and the block: equal to their formulas; also with a cache."""

import pytest
import torch
from compare import agree, close, double, numbers, randomise
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnbook.analysis.maps import attention_maps
from attnbook.course.kit.exercises import by_formula
from attnbook.nn.block import Block, Residual
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention, split_heads
from attnbook.nn.norms import RMSNorm
from attnbook.nn.rotary import Rotary

small = st.integers(1, 4)
seeds = st.integers(0, 999)
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def plain(seed, *shape):
    return numbers(seed, shape)[0].detach()


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
    wrong = F.dropout(F.layer_norm(x + x.roll(1, -1), (64,)), 0.3)
    assert (wrong == 0).double().mean().item() == pytest.approx(0.3, abs=0.02)
    assert (wrong.std(-1, correction=0).mean() - 1) > 0.1


def today():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 4, n_groups=2, qk_norm=True, turn=Rotary())
    return randomise(Block(RMSNorm(8), attention, RMSNorm(8), SwiGLU(8, 6))).double()


def test_todays_block_decodes_with_a_cache():
    """Position by position as all at once; the cache holds two groups."""
    block, x = today(), numbers(1, (2, 6, 8))[0]
    cache, outputs = block.start(x), []
    for position in x.split(1, dim=1):
        out, cache = block.step(position, cache)
        outputs.append(out)
    close(torch.cat(outputs, 1), block(x, causal_mask(6)))
    assert cache.k.shape == cache.v.shape == (2, 2, 6, 2)


def test_the_maps_of_todays_block_can_be_seen():
    block, x = today(), numbers(1, (2, 6, 8))[0]
    y = block.norm_1(x)
    q = block.attention.for_queries(split_heads(block.attention.W_Q(y), 4))
    q, k = Rotary()(q, block.attention.keys_values(y, y).k)
    scores = q @ k.repeat_interleave(2, 1).mT / 2**0.5  # (2, 4, 6, 6)
    wanted = scores.masked_fill(~causal_mask(6), -torch.inf).softmax(-1)
    (found,) = attention_maps(block, x, causal_mask(6)).values()
    close(found, wanted)
