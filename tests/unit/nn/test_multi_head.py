"""Multi-head attention: equal to its formula and to PyTorch's; also with a cache."""

import pytest
import torch
from compare import agree, close, double, numbers, project, randomise, sentences
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import by_formula
from attnbook.models.from_torch import attention_from_torch
from attnbook.nn.masks import causal_mask, key_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import shift_matrix
from attnbook.nn.rotary import Rotary

small, seeds, switch = st.integers(1, 4), st.integers(0, 999), st.booleans()


def self_attention(d=8, h=2, **kwargs):
    return randomise(double(MultiHeadAttention, d, h, **kwargs)).eval()


def turned(rows, first):
    """Each row of (T, d_k) by its own matrix, as of the positions first … first + T."""
    return torch.stack(
        [shift_matrix(-first - i, rows.shape[1]) @ row for i, row in enumerate(rows)]
    )


def rms_norm(x, norm):
    """Zhang and Sennrich 2019, row by row; x as it is where there is no norm."""
    if isinstance(norm, nn.Identity):
        return x
    roots = torch.sqrt((x * x).sum(-1, keepdim=True) / x.shape[-1] + norm.eps)
    return x / roots * norm.gain


KINDS = pytest.mark.parametrize(
    ("qk_norm", "turn"),
    [(False, None), (False, Rotary()), (True, None), (True, Rotary())],
    ids=["plain", "rotary", "qk-norm", "both"],
)


@KINDS
@given(st.data(), small, small, small, st.integers(1, 2), st.integers(1, 2), seeds)
@settings(max_examples=15)
def test_it_equals_the_formula_head_by_head(
    qk_norm, turn, data, b, t, before, g, d_k, seed
):
    """In groups or not; fresh or cached keys, any mask, a bias; rows without a key."""
    h, d_k, s = g * data.draw(st.integers(1, 3)), 2 * d_k, before + t
    d, how = h * d_k, {"n_groups": g, "qk_norm": qk_norm, "turn": turn}
    mha = self_attention(d, h, seed=seed, **how, bias=data.draw(switch))
    query, key, value = numbers(seed, (b, t, d), (b, s, d), (b, s, d))
    (bias,) = numbers(seed, (b, h, t, s))
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(b, h, t, s, generator=generator) < 0.6

    def by_place(q, k):  # the queries are the last places, the keys all of them
        q, k = rms_norm(q, mha.for_queries), rms_norm(k, mha.for_keys)
        if turn is None:
            return q, k
        return tuple(
            torch.stack([turned(rows, s - len(rows)) for rows in y]) for y in (q, k)
        )

    loop = by_formula.multi_head(
        query, key, mha, mask, values=value, bias=bias, turn=by_place
    )
    leaves = [query, key, value, bias, *mha.parameters()]
    cache = mha.keys_values(key, value)
    assert cache.k.shape == cache.v.shape == (b, g, s, d_k)
    for ours in (
        mha(query, key, value, mask, score_bias=bias),
        mha(query, cache=cache, mask=mask, score_bias=bias),
        mha(query, key, value, mask, score_bias=bias, need_weights=True)[0],
    ):
        agree(ours, loop, leaves, 1e-11)


@KINDS
@given(st.lists(small, min_size=1, max_size=4), st.sampled_from([1, 2, 4]), seeds)
@settings(max_examples=10)
def test_in_steps_it_equals_all_at_once(qk_norm, turn, parts, g, seed):
    """However a sequence is cut; each query and key has its true position."""
    mha = self_attention(16, 4, n_groups=g, qk_norm=qk_norm, turn=turn, seed=seed)
    (x,) = numbers(seed, (2, sum(parts), 16))
    together, weights = mha(x, x, x, causal_mask(sum(parts)), need_weights=True)
    cache, outputs = mha.start(x), []
    for part in x.split(parts, dim=1):
        out, longer = mha.step(part, cache)
        assert longer.k.shape[2] == cache.k.shape[2] + part.shape[1]
        outputs.append(out)
        cache = longer
    agree(torch.cat(outputs, 1), together, [x, *mha.parameters()])
    close(mha(x[:, -1:], cache=cache, need_weights=True)[1], weights[:, :, -1:])


@given(small, small, small, small, small, switch, switch, st.data())
@settings(max_examples=25)
def test_it_equals_pytorchs(b, t, s, h, d_k, bias, causal, data):
    """Output, gradients and the weights of each head, with each kind of mask."""
    d = h * d_k
    theirs = double(nn.MultiheadAttention, d, h, batch_first=True, seed=t, bias=bias)
    ours = attention_from_torch(randomise(theirs).eval())
    query, key, value = numbers(s, (b, t, d), (b, s, d), (b, s, d))
    ids = sentences(0, [s, *(data.draw(st.integers(1, s)) for _ in range(b - 1))], 20)
    mask, reading = key_mask(ids), {"key_padding_mask": ids == PAD}
    if causal:
        mask = mask & causal_mask(t, s)
        reading["attn_mask"] = ~causal_mask(t, s)  # True hides, there
    expected, shares = theirs(query, key, value, average_attn_weights=False, **reading)
    out, weights = ours(query, key, value, mask, need_weights=True)
    agree(out, expected, [query, key, value])
    agree(weights, shares, [query, key])


@pytest.mark.parametrize("g", [8, 1])
def test_at_the_start_the_scores_have_variance_one(g):
    """What the scale reckons with: neither 8 nor 1/8 of it."""
    torch.manual_seed(0)
    mha = MultiHeadAttention(256, 8, n_groups=g)
    x = torch.randn(4, 64, 256)
    q, k, v = project(mha, x, x, x)
    assert (q @ k.mT / 32**0.5).std().item() == pytest.approx(1, abs=0.1)
    assert v.std().item() == pytest.approx(1, abs=0.05)
    assert all(not linear.bias.any() for linear in (mha.W_Q, mha.W_K, mha.W_V, mha.W_O))


def test_weights_are_those_before_dropout_and_only_dropout_knows_the_mode():
    mha, (x,) = self_attention(8, 2, dropout=0.5), numbers(0, (2, 6, 8))
    cache, (out, weights) = mha.keys_values(x, x), mha(x, x, x, need_weights=True)
    close(mha(x, cache=cache), out)
    mha.train()
    dropped, found = mha(x, x, x, need_weights=True)
    close(found, weights)
    for one in (dropped, mha(x, x, x), mha(x, cache=cache)):
        assert not torch.allclose(one, out)
    mha.dropout = 0.0
    close(mha(x, x, x), out)
