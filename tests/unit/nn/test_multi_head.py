"""Multi-head attention: equal to its formula and to PyTorch's, head by head."""

import pytest
import torch
from compare import agree, close, double, numbers, project, randomise, sentences
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import by_formula
from attnbook.models.from_torch import attention_from_torch
from attnbook.nn.masks import causal_mask, key_mask, prepare_mask, target_mask
from attnbook.nn.multi_head import MultiHeadAttention, merge_heads, split_heads

small, seeds, switch = st.integers(1, 4), st.integers(0, 999), st.booleans()


def self_attention(d=8, h=2, **kwargs):
    return randomise(double(MultiHeadAttention, d, h, **kwargs)).eval()


@given(small, small, small, small, small, seeds)
@settings(max_examples=25)
def test_it_equals_the_formula_head_by_head(b, t, s, h, d_k, seed):
    """Fresh or kept keys, any mask or a prepared one, a bias; rows without a key."""
    mha, d = self_attention(h * d_k, h, seed=seed), h * d_k
    query, key, value = numbers(seed, (b, t, d), (b, s, d), (b, s, d))
    (bias,) = numbers(seed, (b, h, t, s))
    g = torch.Generator().manual_seed(seed)
    mask = torch.rand(b, h, t, s, generator=g) < 0.6
    loop = by_formula.multi_head(query, key, mha, mask, values=value, bias=bias)
    leaves = [query, key, value, bias, *mha.parameters()]
    kept = mha.keys_values(key, value)
    for ours in (
        mha(query, key, value, mask, score_bias=bias),
        mha(query, kept=kept, mask=prepare_mask(mask), score_bias=bias),
        mha(query, key, value, mask, score_bias=bias, need_weights=True)[0],
    ):
        agree(ours, loop, leaves)


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


@given(small, small, small, small, seeds)
@settings(max_examples=15)
def test_splitting_cuts_features_and_not_positions(b, t, h, d_k, seed):
    (x,) = numbers(seed, (b, t, h * d_k))
    heads = split_heads(x, h)
    for i in range(h):
        assert torch.equal(heads[:, i], x[:, :, i * d_k : (i + 1) * d_k])
    assert torch.equal(merge_heads(heads), x)


@pytest.mark.parametrize(("bias", "number"), [(True, 1_050_624), (False, 1_048_576)])
@pytest.mark.parametrize("h", [1, 8, 64])
def test_the_number_of_parameters_does_not_depend_on_the_heads(h, bias, number):
    with torch.device("meta"):
        mha = MultiHeadAttention(512, h, bias=bias)
    assert sum(p.numel() for p in mha.parameters()) == number


def test_at_the_start_the_scores_have_variance_one():
    """What the scale reckons with: neither 8 nor 1/8 of it."""
    torch.manual_seed(0)
    mha = MultiHeadAttention(256, 8)
    x = torch.randn(4, 64, 256)
    q, k, _ = project(mha, x, x, x)
    assert (q @ k.mT / 32**0.5).std().item() == pytest.approx(1, abs=0.1)
    assert all(not linear.bias.any() for linear in (mha.W_Q, mha.W_K, mha.W_V, mha.W_O))


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16]
)
def test_a_row_without_any_key_in_every_type(need_weights, dtype):
    """Zeros from every head, W^O adds its bias; no NaN, not in a gradient either."""
    mha, (x,) = self_attention(8, 2).to(dtype), numbers(0, (2, 4, 8))
    x = x.detach().to(dtype).requires_grad_()
    ids = torch.tensor([[PAD, PAD, 5, 6], [PAD] * 4])
    with torch.autograd.set_detect_anomaly(True):
        out = mha(x, x, x, target_mask(ids), need_weights=need_weights)
        out = out[0] if need_weights else out
        out.square().sum().backward()
    assert torch.equal(out[ids == PAD], mha.W_O.bias.expand(6, -1))
    assert all(y.grad.isfinite().all() for y in (x, *mha.parameters()))
    assert (x.grad[ids == PAD] == 0).all()
    assert x.grad[ids != PAD].any()


def test_causal_attention_in_any_mode_and_word_by_word():
    """No place reacts to a later one, and earlier places are all that a step needs."""
    mha, (x,) = self_attention(8, 2), numbers(0, (2, 6, 8))
    for mode in (True, False):
        mha.train(mode)
        moved = influence(lambda x: mha(x, x, x, causal_mask(6)), x.detach()) > 0
        assert torch.equal(moved, causal_mask(6))
    together, kept = mha(x, x, x, causal_mask(6)), mha.keys_values(x[:, :0], x[:, :0])
    for i in range(6):
        place = x[:, i : i + 1]
        kept = kept.extend(mha.keys_values(place, place))
        close(mha(place, kept=kept), together[:, i : i + 1])


def test_weights_are_those_before_dropout_and_only_dropout_knows_the_mode():
    mha, (x,) = self_attention(8, 2, dropout=0.5), numbers(0, (2, 6, 8))
    kept, (out, weights) = mha.keys_values(x, x), mha(x, x, x, need_weights=True)
    close(mha(x, kept=kept), out)
    mha.train()
    dropped, found = mha(x, x, x, need_weights=True)
    close(found, weights)
    for one in (dropped, mha(x, x, x), mha(x, kept=kept)):
        assert not torch.allclose(one, out)
    mha.dropout = 0.0
    close(mha(x, x, x), out)


def test_another_scale_is_used():
    mha, (x,) = self_attention(8, 2), numbers(0, (2, 6, 8))
    mha.scale = 0.0
    _, weights = mha(x, x, x, need_weights=True)
    close(weights, torch.full_like(weights, 1 / 6))


mha = MultiHeadAttention(8, 2)
x = torch.zeros(2, 3, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MultiHeadAttention(100, 8), "100 .* 8 heads; .* such as 104"),
        (lambda: MultiHeadAttention(8, 0), "n_heads is 0; .* from 1 on"),
        (lambda: MultiHeadAttention(-8, 2), "d_model is -8"),
        (lambda: MultiHeadAttention(8, 2, dropout=1.5), "dropout is 1.5"),
        (lambda: mha(x), "no key or no value; give both"),
        (lambda: mha(x, x), "no key or no value; give both"),
        (lambda: mha(x[0], x, x), r"query has shape \(3, 8\); .*\(B, T, 8\), batch"),
        (lambda: mha(x, x[..., :4], x), r"key has shape \(2, 3, 4\).*\(B, S, 8\)"),
        (lambda: mha(x, x, x[None]), r"value has shape \(1, 2, 3, 8\).*\(B, S, 8\)"),
        (lambda: mha(x, x[:1], x[:1]), "have 2, 1 and 1 sentences"),
        (lambda: mha(x, x, x[:, :2]), "3 keys, but 2 values"),
        (lambda: mha(x, x[:, :0], x[:, :0]), r"no key \(S = 0\)"),
        (lambda: mha(x, x, x, torch.ones(3, 3)), "float32; it must be torch.bool"),
        (
            lambda: mha(x, x, x, torch.ones(2, 3, 3).bool()),
            r"\(2, 3, 3\): is its first axis B or H\? mask\[:, None\]",
        ),
        (lambda: mha(x, x, x, torch.ones(3, 4).bool()), r"the scores \(2, 2, 3, 3\)"),
        (
            lambda: mha(x, x, x, score_bias=torch.ones(2, 3, 3)),
            "score_bias has .*B or H",
        ),
        (
            lambda: mha(x, x, x, score_bias=torch.ones(1, 3, 3, 3)),
            r"score_bias has shape \(1, 3, 3, 3\), the scores \(2, 2, 3, 3\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
