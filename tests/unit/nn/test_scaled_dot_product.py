"""Scaled dot-product attention: equal to its formula and to PyTorch's kernel."""

import math
from itertools import product

import pytest
import torch
from compare import agree, close, numbers, some_allowed
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.nn.scaled_dot_product import attention

small = st.integers(1, 3)
leads = st.lists(st.integers(1, 3), max_size=3)
seeds = st.integers(0, 999)
WAYS = {"fused": False, "with weights": True}
both_ways = pytest.mark.parametrize("need_weights", WAYS.values(), ids=WAYS)


def output(*args, need_weights, **kwargs):
    """The output alone, whichever way it was computed."""
    out = attention(*args, need_weights=need_weights, **kwargs)
    return out[0] if need_weights else out


def by_loop(q, k, v, mask, bias, scale):
    """Equation 1, one number at a time, over the allowed keys alone."""
    out = 0 * (q[..., :1] * v.sum() + k.sum())  # (..., T, 1)
    out = out.expand(*q.shape[:-1], v.shape[-1]).clone()
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    bias = bias.expand(mask.shape)
    for *i, t in product(*map(range, q.shape[:-1])):
        scores = {
            s: sum(q[(*i, t, n)] * k[(*i, s, n)] for n in range(q.shape[-1])) * scale
            + bias[(*i, t, s)]
            for s in range(k.shape[-2])
            if mask[(*i, t, s)]
        }
        total = sum(score.exp() for score in scores.values())
        for s, score in scores.items():
            out[(*i, t)] = out[(*i, t)] + score.exp() / total * v[(*i, s)]
    return out


def inputs(seed, lead, t, s, d_k, d_v):
    return numbers(seed, (*lead, t, d_k), (*lead, s, d_k), (*lead, s, d_v))


def random_mask(seed, *shape):
    """A mask that may have rows without any allowed place."""
    g = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=g) < 0.5


def shapes_onto(lead, t, s):
    """Every shape that a mask may have: fewer axes, and ones."""
    full = (*lead, t, s)
    ones = [(*lead, 1, s), (*lead, t, 1), (*[1] * len(lead), t, s)]
    return [full, *ones, *(full[n:] for n in range(1, len(full)))]


@given(leads, small, small, small, small, st.data(), seeds)
@settings(max_examples=30)
def test_attention_equals_the_loop(lead, t, s, d_k, d_v, data, seed):
    """Both ways, any mask and bias; rows without a place are among the random ones."""
    q, k, v = inputs(seed, lead, t, s, d_k, d_v)
    mask = random_mask(seed, *data.draw(st.sampled_from(shapes_onto(lead, t, s))))
    (bias,) = numbers(seed, data.draw(st.sampled_from(shapes_onto(lead, t, s))))
    scale = data.draw(st.sampled_from([None, 0.0, 0.3, 2.0]))
    number = 1 / math.sqrt(d_k) if scale is None else scale
    loop = by_loop(q, k, v, mask, bias, number)
    for way in WAYS.values():
        ours = output(q, k, v, mask, score_bias=bias, scale=scale, need_weights=way)
        agree(ours, loop, [q, k, v, bias])


@both_ways
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16]
)
def test_a_query_that_may_attend_to_nothing_gets_zeros(need_weights, dtype):
    """In every type, with finite gradients, and none of them its own."""
    q, k, v = (x.detach().to(dtype) for x in inputs(0, (2, 2), 3, 5, 4, 4))
    parts = [x.requires_grad_() for x in (q, k, v)]
    mask = some_allowed(0, 2, 1, 3, 5)
    mask[0, 0, 1] = False
    with torch.autograd.set_detect_anomaly(True):
        out = output(q, k, v, mask, need_weights=need_weights)
        gradients = torch.autograd.grad(out.square().sum(), parts)
    assert (out[0, :, 1] == 0).all()
    assert (out[1] != 0).any(-1).all()
    assert all(g.isfinite().all() for g in gradients)
    assert (gradients[0][0, :, 1] == 0).all()
    assert all(g.any() for g in gradients)


def test_a_kernel_that_gives_nan_for_an_empty_row_is_never_asked(monkeypatch):
    """Older kernels do: a softmax of nothing but minus infinity is 0/0."""

    def older(q, k, v, attn_mask, dropout_p, scale):
        scores = (q @ k.mT * scale).masked_fill(~attn_mask, -torch.inf)
        return scores.softmax(-1) @ v

    q, k, v = inputs(0, (2,), 3, 5, 4, 4)
    mask = some_allowed(0, 3, 5)
    mask[1] = False
    ours = attention(q, k, v, mask)
    monkeypatch.setattr(F, "scaled_dot_product_attention", older)
    agree(attention(q, k, v, mask), ours, [q, k, v])


@pytest.mark.parametrize("mask", [None, torch.ones(3, 5).bool()], ids=["", "mask"])
def test_the_fused_kernel_is_called_unless_weights_are_wanted(monkeypatch, mask):
    calls = []
    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F,
        "scaled_dot_product_attention",
        lambda *args, **kwargs: calls.append(1) or kernel(*args, **kwargs),
    )
    q, k, v = inputs(0, (2,), 3, 5, 4, 4)
    attention(q, k, v, mask, need_weights=True)
    assert not calls
    attention(q, k, v, mask)
    assert calls == [1]


def test_many_keys_of_which_the_first_are_hidden():
    """The kernel works block by block; whole blocks are hidden here, and whole rows."""
    q, k, v = inputs(0, (1, 2), 40, 1100, 16, 16)
    mask = torch.arange(1100) >= torch.linspace(0, 1100, 40)[:, None]
    assert mask.any(-1).tolist() == [True] * 39 + [False]
    for part in (None, mask, mask.flip(1)):
        readable, _ = attention(q, k, v, part, need_weights=True)
        agree(attention(q, k, v, part), readable, [q, k, v])


@both_ways
@pytest.mark.parametrize("mask", [None, some_allowed(0, 6, 8)], ids=["", "mask"])
def test_dropout_drops_weights_and_makes_up_for_them(need_weights, mask):
    """With the unit matrix for values, the output is the weights as they were used."""
    torch.manual_seed(0)
    q, k, _ = inputs(0, (50,), 6, 8, 4, 8)
    v = torch.eye(8).double().expand(50, 8, 8)
    _, weights = attention(q, k, v, mask, need_weights=True)
    used = output(q, k, v, mask, dropout=0.25, need_weights=need_weights)
    kept, (_, before) = (
        used != 0,
        attention(*(q, k, v, mask), dropout=0.25, need_weights=True),
    )
    assert torch.equal(before, weights)
    close(used[kept], weights[kept] / 0.75)
    dropped = (~kept)[weights != 0].double().mean().item()
    assert dropped == pytest.approx(0.25, abs=0.05)


def test_under_autocast_a_cpu_attends_in_fp32():
    """bf16 inputs are widened first, so the result is that of fp32, to the last bit."""
    parts = [x.detach().bfloat16() for x in inputs(0, (2, 3), 5, 5, 8, 8)]
    with torch.autocast("cpu", torch.bfloat16):
        out = attention(*parts, some_allowed(2, 1, 5, 5))
    wide = attention(*(x.float() for x in parts), some_allowed(2, 1, 5, 5))
    assert torch.equal(out, wide)
