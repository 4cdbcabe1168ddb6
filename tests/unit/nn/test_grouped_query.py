"""Grouped-query attention: equal to its formula, to PyTorch's and to multi-head."""

import pytest
import torch
from compare import agree, close, double, numbers, some_allowed
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.course.kit.exercises import by_formula
from attnbook.nn.grouped_query import GroupedQueryAttention
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention, merge_heads, split_heads
from attnbook.nn.norms import RMSNorm
from attnbook.nn.rotary import Rotary, RotaryAttention, rotate

SIZES = [(4, 4), (4, 2), (4, 1), (6, 3)]  # heads and groups


def without_biases(kind, *sizes, like):
    """A 2017 attention with the weights of another one."""
    layer = kind(*sizes, bias=False).double()
    layer.load_state_dict(like.state_dict())
    return layer


@pytest.mark.parametrize(("h", "g"), SIZES)
@given(st.integers(1, 4), st.integers(0, 999))
@settings(max_examples=5)
def test_it_equals_the_formula(h, g, t, seed):
    layer = double(GroupedQueryAttention, 2 * h, h, g, seed=seed)
    x, mask = numbers(seed, (t, 2 * h))[0], some_allowed(seed, t, t)
    ours = layer(x[None], x[None], x[None], mask)[0]
    wanted = by_formula.multi_head(x, x, layer, mask)
    agree(ours, wanted, [x, *layer.parameters()], 1e-11)


@pytest.mark.parametrize(("h", "g"), SIZES)
def test_it_equals_pytorchs_grouped_attention(h, g):
    layer = double(GroupedQueryAttention, 4 * h, h, g)
    query, memory = numbers(0, (2, 3, 4 * h), (2, 5, 4 * h))
    q = split_heads(layer.W_Q(query), h)
    k, v = (split_heads(w(memory), g) for w in (layer.W_K, layer.W_V))
    theirs = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    theirs = layer.W_O(merge_heads(theirs))
    leaves = [query, memory, *layer.parameters()]
    agree(layer(query, memory, memory), theirs, leaves)


def test_with_a_group_for_each_head_it_is_multi_head_attention():
    layer = double(GroupedQueryAttention, 8, 4, 4)
    mha = without_biases(MultiHeadAttention, 8, 4, like=layer)
    x = numbers(0, (2, 5, 8))[0]
    agree(layer(x, x, x, causal_mask(5)), mha(x, x, x, causal_mask(5)), [x])
    torch.manual_seed(3)
    one = MultiHeadAttention(8, 4, bias=False).state_dict()
    torch.manual_seed(3)
    for name, weight in GroupedQueryAttention(8, 4, 4).state_dict().items():
        close(weight, one[name], 1e-6)


def test_with_rotations_it_is_rotary_attention():
    layer = double(GroupedQueryAttention, 8, 2, 2, Rotary(), Rotary())
    rotary = without_biases(RotaryAttention, 8, 2, like=layer)
    x = numbers(0, (2, 5, 8))[0]
    agree(layer(x, x, x), rotary(x, x, x), [x])
    close(Rotary()(x), rotate(x))


def test_with_qk_norm_no_score_exceeds_the_root_of_the_width():
    norms = RMSNorm(4), RMSNorm(4)
    layer = double(GroupedQueryAttention, 8, 2, 1, *norms)
    x = 1000 * numbers(2, (1, 6, 8))[0]
    q = norms[0](split_heads(layer.W_Q(x), 2))
    k = norms[1](split_heads(layer.W_K(x), 1))
    assert (q @ k.mT / 2).abs().max() <= 2 + 1e-9
    with torch.no_grad():
        before = layer(x, x, x)
        layer.W_Q.weight.mul_(1000)
        close(layer(x, x, x), before, 1e-2)  # but for ε


def test_weights_begin_with_the_variance_of_multi_head_attention():
    layer = GroupedQueryAttention(256, 8, 1)
    for linear in (layer.W_Q, layer.W_K, layer.W_V, layer.W_O):
        assert linear.bias is None
        assert linear.weight.var().item() == pytest.approx(1 / 256, rel=0.05)
    assert layer.W_K.weight.shape == layer.W_V.weight.shape == (32, 256)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((8, 4, 3), "4 heads cannot be divided into 3 groups"),
        ((8, 3, 1), "d_model = 8 cannot be divided"),
        ((8, 4, 0), "n_groups is 0"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(*sizes)
