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
from attnbook.toy import example

small = st.integers(1, 3)
medium = st.integers(1, 8)
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
    """Both ways, with bias and mask; rows without a place are among the random ones."""
    q, k, v = inputs(seed, lead, t, s, d_k, d_v)
    mask = random_mask(seed, *data.draw(st.sampled_from(shapes_onto(lead, t, s))))
    (bias,) = numbers(seed, data.draw(st.sampled_from(shapes_onto(lead, t, s))))
    scale = data.draw(st.sampled_from([None, 0.0, 0.3, 2.0]))
    number = 1 / math.sqrt(d_k) if scale is None else scale
    loop = by_loop(q, k, v, mask, bias, number)
    for way in WAYS.values():
        ours = output(q, k, v, mask, score_bias=bias, scale=scale, need_weights=way)
        agree(ours, loop, [q, k, v, bias])


@given(leads, medium, medium, medium, medium, st.data(), seeds)
@settings(max_examples=40)
def test_attention_equals_pytorchs(lead, t, s, d_k, d_v, data, seed):
    """In the order query, key, value, and with 1/√d_k, no other scale."""
    q, k, v = inputs(seed, lead, t, s, d_k, d_v)
    shape = data.draw(st.sampled_from(shapes_onto(lead, t, s)))
    mask = some_allowed(seed, *shape)
    scale = data.draw(st.sampled_from([None, 0.7]))
    sdpa = F.scaled_dot_product_attention
    plain = sdpa(q, k, v, scale=scale)
    masked = sdpa(q, k, v, attn_mask=mask.expand(*lead, t, s), scale=scale)
    for way in WAYS.values():
        kwargs = {"scale": scale, "need_weights": way}
        agree(output(q, k, v, **kwargs), plain, [q, k, v])
        agree(output(q, k, v, mask, **kwargs), masked, [q, k, v])


@given(leads, medium, medium, medium, st.data(), seeds)
@settings(max_examples=25)
def test_a_bias_equals_pytorchs_mask_of_numbers(lead, t, s, d, data, seed):
    """Of any shape that broadcasts, also without an axis of queries."""
    q, k, v = inputs(seed, lead, t, s, d, d)
    (bias,) = numbers(seed + 1, data.draw(st.sampled_from(shapes_onto(lead, t, s))))
    for way in WAYS.values():
        whole = bias.expand(*lead, t, s)
        theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=whole)
        ours = output(q, k, v, score_bias=bias, need_weights=way)
        agree(ours, theirs, [q, k, v, bias])


@both_ways
@pytest.mark.parametrize("shape", [(), (5,), (3, 1), (3, 5), (2, 1, 3, 5)])
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16]
)
def test_a_bias_of_any_shape_in_every_type(need_weights, shape, dtype):
    """It takes the queries' type; without gradients PyTorch has other kernels."""
    made = inputs(0, (2, 4), 3, 5, 4, 4)
    q, k, v = (x.detach().to(dtype) for x in made)
    bias = numbers(1, shape)[0].detach().float()
    found = output(q, k, v, score_bias=bias, need_weights=need_weights)
    assert found.dtype == dtype
    exact = F.scaled_dot_product_attention(
        *(x.double() for x in (q, k, v)), attn_mask=bias.double().expand(2, 4, 3, 5)
    )
    scores = (q.double() @ k.double().mT).abs().max().item() / 2
    scores += bias.abs().max().item()
    allowed = (1 + scores) * v.abs().max().item() * torch.finfo(dtype).eps
    close(found.double(), exact, allowed)


@given(leads, medium, medium, medium, seeds)
@settings(max_examples=20)
def test_weights_give_the_output(lead, t, s, d, seed):
    """They are shares: not negative, and their sum is 1, or 0 in an empty row."""
    q, k, v = inputs(seed, lead, t, s, d, d + 1)
    mask = random_mask(seed, *lead, t, s)
    out, weights = attention(q, k, v, mask, need_weights=True)
    assert weights.shape == (*lead, t, s)
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    close(weights.sum(-1), mask.any(-1).double())
    close(out, weights @ v)


def test_the_sum_runs_over_keys_and_the_width_is_that_of_the_values():
    """d_v is free, and T and S differ."""
    q, k, v = inputs(0, (2,), 3, 5, 4, 7)
    out, weights = attention(q, k, v, need_weights=True)
    assert out.shape == (2, 3, 7)
    assert weights.shape == (2, 3, 5)
    assert attention(q, k, v).shape == (2, 3, 7)


def test_the_pencil_numbers_of_the_sentence():
    """Once more with Python's own numbers: keys and values are the states."""
    states = example.STATES
    out, weights = attention(example.QUERY[None], states, states, need_weights=True)
    query, rows = example.QUERY.tolist(), states.tolist()
    powers = [
        math.exp(sum(a * b for a, b in zip(query, row, strict=True)) / 2)
        for row in rows
    ]
    shares = [power / sum(powers) for power in powers]
    assert weights[0].tolist() == pytest.approx(shares, abs=1e-6)
    mean = [
        sum(w * row[n] for w, row in zip(shares, rows, strict=True)) for n in range(4)
    ]
    assert out[0].tolist() == pytest.approx(mean, abs=1e-6)
    assert example.SENTENCE[weights.argmax()] == "farmer"


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


@both_ways
def test_a_batch_in_which_nothing_is_allowed(need_weights):
    q, k, v = inputs(0, (2,), 3, 5, 4, 4)
    out = output(q, k, v, torch.tensor([False]), need_weights=need_weights)
    assert (out == 0).all()
    gradients = torch.autograd.grad(out.sum(), [q, k, v])
    assert all((g == 0).all() for g in gradients)


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


def rounding_bounds(q, k, v, weights, factors, eps, n):
    """How far rounding may move each entry of the output and of the gradients.

    To first order, by the chain rule, with n + 1 roundings of size ε wherever n
    products are summed, twice what each of them can be.
    """
    q, k, v, g = (x.abs() for x in (q, k, v, factors))
    u, scale = (n + 1) * eps, 1 / math.sqrt(q.shape[-1])
    score = u * scale * (q @ k.mT)
    weight = weights * (score + (weights * score).sum(-1, keepdim=True) + u)
    out = weight @ v + u * (weights @ v)
    d_weights = g @ v.mT
    # The mean of a row's gradients, taken from the weights or from the output.
    mean = (g * (weights @ v)).sum(-1, keepdim=True)
    mean_wrong = (g * out).sum(-1, keepdim=True) + u * mean
    d_scores = weights * (d_weights + mean)
    d_wrong = weight * (d_weights + mean) + weights * (u * d_weights + mean_wrong)
    d_wrong = d_wrong + 2 * eps * d_scores
    return (
        out,
        scale * (d_wrong @ k + u * d_scores @ k),
        scale * (d_wrong.mT @ q + u * d_scores.mT @ q),
        weight.mT @ g + u * weights.mT @ g,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@given(medium, medium, medium, medium, seeds)
@settings(max_examples=25)
def test_values_and_gradients_in_less_precise_types(dtype, t, s, d_k, d_v, seed):
    """Against PyTorch's in float64 of the same numbers; empty rows are among them."""
    made = (*inputs(seed, (2,), t, s, d_k, d_v), *numbers(seed + 1, (2, t, d_v)))
    *rounded, factors = (x.detach().to(dtype) for x in made)
    exact = [x.double().requires_grad_() for x in rounded]
    mask = random_mask(seed, 2, t, s)
    open_rows = mask.any(-1, keepdim=True)
    theirs = F.scaled_dot_product_attention(*exact, attn_mask=mask | ~open_rows)
    theirs = theirs * open_rows
    wanted = theirs, *torch.autograd.grad(theirs, exact, factors.double())
    _, weights = attention(*exact, mask, need_weights=True)
    # 16-bit types are multiplied and summed in float32, and rounded once.
    n = max(t, s, d_k, d_v) if dtype == torch.float32 else 1
    eps = torch.finfo(dtype).eps
    bounds = rounding_bounds(*exact, weights, factors.double(), eps, n)
    for way in WAYS.values():
        parts = [x.clone().requires_grad_() for x in rounded]
        out = output(*parts, mask, need_weights=way)
        found = out, *torch.autograd.grad(out, parts, factors)
        assert {x.dtype for x in found} == {dtype}
        for ours, reference, bound in zip(found, wanted, bounds, strict=True):
            assert ((ours.double() - reference).abs() <= bound).all()


@both_ways
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_less_precise_types_differ_by_rounding(need_weights, dtype):
    """Scores are rounded, so a weight is wrong by their size times ε."""
    eps = torch.finfo(dtype).eps
    for seed in range(5):
        q, k, v = (x.detach().to(dtype) for x in inputs(seed, (2, 3), 6, 9, 16, 16))
        mask = some_allowed(seed, 2, 1, 6, 9)
        mask[0, 0, 0] = False
        exact = attention(q.double(), k.double(), v.double(), mask)
        scores = (q.double() @ k.double().mT).abs().max().item() / 4
        found = output(q, k, v, mask, need_weights=need_weights)
        assert found.dtype == dtype
        allowed = (1 + scores) * v.abs().max().item() * eps
        close(found.double(), exact, atol=allowed)


def test_many_keys_of_which_the_first_are_hidden():
    """The kernel works block by block; whole blocks are hidden here, and whole rows."""
    q, k, v = inputs(0, (1, 2), 40, 1100, 16, 16)
    mask = torch.arange(1100) >= torch.linspace(0, 1100, 40)[:, None]
    assert mask.any(-1).tolist() == [True] * 39 + [False]
    for part in (None, mask, mask.flip(1)):
        readable, _ = attention(q, k, v, part, need_weights=True)
        agree(attention(q, k, v, part), readable, [q, k, v])


@both_ways
@given(medium, medium, seeds)
@settings(max_examples=15)
def test_the_order_of_the_keys_does_not_matter(need_weights, t, s, seed):
    """Nor that of queries, but that theirs is the order of the output."""
    q, k, v = inputs(seed, (2,), t, s, 4, 4)
    mask = random_mask(seed, 2, t, s)
    g = torch.Generator().manual_seed(seed)
    rows, keys = torch.randperm(t, generator=g), torch.randperm(s, generator=g)
    out = output(q, k, v, mask, need_weights=need_weights)
    mixed = mask[:, rows][:, :, keys]
    found = output(q[:, rows], k[:, keys], v[:, keys], mixed, need_weights=need_weights)
    close(found, out[:, rows])


@both_ways
def test_what_is_hidden_does_not_matter(need_weights):
    q, k, v = inputs(0, (2,), 3, 5, 4, 4)
    mask = some_allowed(0, 2, 1, 5)
    hidden = ~mask.transpose(1, 2)  # (2, 5, 1)
    assert hidden.any()
    out = output(q, k, v, mask, need_weights=need_weights)
    other = output(
        q,
        k.masked_fill(hidden, 99.0),
        v.masked_fill(hidden, -99.0),
        mask,
        need_weights=need_weights,
    )
    assert torch.equal(out, other)


@both_ways
@pytest.mark.parametrize("mask", [None, some_allowed(0, 6, 8)], ids=["", "mask"])
def test_dropout_drops_weights_and_makes_up_for_them(need_weights, mask):
    """With the unit matrix for values, the output is the weights as they were used."""
    torch.manual_seed(0)
    q, k, _ = inputs(0, (50,), 6, 8, 4, 8)
    v = torch.eye(8).double().expand(50, 8, 8)
    _, weights = attention(q, k, v, mask, need_weights=True)
    used = output(q, k, v, mask, dropout=0.25, need_weights=need_weights)
    kept = used != 0
    close(used[kept], weights[kept] / 0.75)
    dropped = (~kept)[weights != 0].double().mean().item()
    assert dropped == pytest.approx(0.25, abs=0.05)


def test_weights_are_those_before_dropout():
    """After it their sums would be anything."""
    q, k, v = inputs(0, (4,), 6, 8, 4, 8)
    torch.manual_seed(0)
    _, weights = attention(q, k, v, dropout=0.5, need_weights=True)
    close(weights.sum(-1), torch.ones(4, 6).double())
    close(weights, attention(q, k, v, need_weights=True)[1])


@given(st.lists(small, min_size=1, max_size=2), medium, medium, medium, seeds)
@settings(max_examples=20)
def test_rows_without_a_place_are_zeros_whatever_the_shapes(lead, t, s, d, seed):
    """Half of the rows, with a bias of scores, and with finite gradients."""
    parts = q, k, v = inputs(seed, lead, t, s, d, d)
    (bias,) = numbers(seed + 1, (t, s))
    mask = some_allowed(seed, *lead, t, s)
    empty = random_mask(seed, *lead, t, 1)
    for way in WAYS.values():
        out = output(q, k, v, mask & ~empty, score_bias=bias, need_weights=way)
        free = output(q, k, v, mask, score_bias=bias, need_weights=way)
        agree(out, free.masked_fill(empty, 0.0), [*parts, bias])
        assert (out[empty[..., 0]] == 0).all()


def test_wrong_ways_that_run_are_not_equal():
    """What the comparison with PyTorch's kernel finds."""
    q, k, v = (x.detach() for x in inputs(0, (2, 8), 5, 5, 4, 4))
    wanted = F.scaled_dot_product_attention(q, k, v)
    wrong = {
        "divided by the heads once more": attention(q, k, v, scale=(4 / 8) ** -0.5),
        "by the width of all heads": attention(q, k, v, scale=(4 * 8) ** -0.5),
        "in the order value, key, query": attention(v, k, q),
    }
    for name, out in wrong.items():
        assert (out - wanted).abs().max() > 0.1, name
    dropped = F.dropout(attention(q, k, v, need_weights=True)[1], 0.3)
    assert (dropped.sum(-1) - 1).abs().max() > 0.1
    mask = some_allowed(0, 5, 5)
    mask[2] = False
    scores = q @ k.mT / 2
    assert scores.masked_fill(~mask, -torch.inf).softmax(-1).isnan().any()
    even = scores.masked_fill(~mask, -1e20).softmax(-1)[..., 2, :]
    assert torch.equal(even, torch.full_like(even, 0.2))  # without notice
    with pytest.raises(RuntimeError, match="overflow"):
        scores.half().masked_fill(~mask, -1e20)
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(mask)  # what `if mask:` asks


@both_ways
def test_no_number_is_needed_to_know_the_shape(need_weights):
    q, k, v = (torch.empty(2, 3, n, 4, device="meta") for n in (5, 7, 7))
    mask = torch.empty(2, 1, 1, 7, device="meta", dtype=torch.bool)
    for m in (None, mask):
        out = output(q, k, v, m, need_weights=need_weights)
        assert out.device.type == "meta"
        assert out.shape == (2, 3, 5, 4)


@both_ways
def test_compiles_without_a_graph_break(need_weights):
    torch._dynamo.reset()
    fast = torch.compile(attention, fullgraph=True, backend="eager")
    for t, s in ((3, 5), (4, 6), (1, 7)):
        q, k, v = inputs(0, (2, 2), t, s, 4, 4)
        mask = random_mask(s, 2, 1, t, s)
        for m in (None, mask):
            torch.testing.assert_close(
                fast(q, k, v, m, need_weights=need_weights),
                attention(q, k, v, m, need_weights=need_weights),
            )


def test_only_a_mask_may_be_given_without_its_name():
    q, k, v = inputs(0, (), 3, 5, 4, 4)
    with pytest.raises(TypeError, match="positional"):
        attention(q, k, v, None, 0.5)


x = torch.zeros(2, 3, 4)


@both_ways
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda **w: attention(x[0, 0], x, x, **w), r"q has shape \(4,\); .*x\[None\]"),
        (
            lambda **w: attention(x, x[:1], x, **w),
            r"\(2, 3, 4\), \(1, 3, 4\) and \(2, 3, 4\); .* all axes but the last two",
        ),
        (
            lambda **w: attention(x, x, x[0], **w),
            r"\(2, 3, 4\) and \(3, 4\); they must",
        ),
        (lambda **w: attention(x[..., :3], x, x, **w), "queries are 3 wide, keys 4"),
        (lambda **w: attention(x, x, x[:, :2], **w), "3 keys, but 2 values; each key"),
        (
            lambda **w: attention(x, x[:, :0], x[:, :0], **w),
            r"k has shape \(2, 0, 4\): there is no key \(S = 0\)",
        ),
        (lambda **w: attention(x[..., :0], x[..., :0], x, **w), r"\(d_k = 0\)"),
        (lambda **w: attention(x, x, x, torch.ones(3, 3), **w), r"torch.float32; it"),
        (
            lambda **w: attention(x, x, x, torch.ones(2, 4).bool(), **w),
            r"mask has shape \(2, 4\), the scores \(2, 3, 3\); .* key_mask",
        ),
        (
            lambda **w: attention(x, x, x, torch.ones(1, 2, 3, 3).bool(), **w),
            r"mask has shape \(1, 2, 3, 3\)",
        ),
        (
            lambda **w: attention(x, x, x, score_bias=torch.ones(3, 3).bool(), **w),
            "score_bias is of type torch.bool; .* `mask`",
        ),
        (
            lambda **w: attention(x, x, x, score_bias=torch.ones(5, 3), **w),
            r"score_bias has shape \(5, 3\), the scores \(2, 3, 3\)",
        ),
        (
            lambda **w: attention(x, x, x, dropout=1.0, **w),
            "dropout is 1.0; .* below 1",
        ),
        (lambda **w: attention(x, x, x, dropout=-0.1, **w), "dropout is -0.1"),
        (
            lambda **w: attention(x, x.double(), x, **w),
            "of types torch.float32, torch.float64 and torch.float32; .* one floating",
        ),
        (lambda **w: attention(*3 * [x.long()], **w), "of types torch.int64, "),
    ],
)
def test_bad_input_is_named(call, message, need_weights):
    with pytest.raises(ValueError, match=message):
        call(need_weights=need_weights)


@pytest.mark.parametrize("kind", ["plain", "mask", "bias"])
def test_under_autocast_a_cpu_attends_in_fp32(kind):
    """bf16 inputs are widened first, so the result is that of fp32, to the last bit."""
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 3, 5, 8, generator=g).bfloat16() for _ in "qkv")
    more = {
        "plain": {},
        "mask": {"mask": some_allowed(2, 1, 5, 5)},
        "bias": {"score_bias": torch.randn(5, 5, generator=g)},
    }[kind]
    with torch.autocast("cpu", torch.bfloat16):
        out = attention(q, k, v, **more)
    assert out.dtype == torch.float32
    bias = {name: x.bfloat16() for name, x in more.items() if name == "score_bias"}
    wanted = attention(q.float(), k.float(), v.float(), **(more | bias))
    assert torch.equal(out, wanted)
