"""Positions: sinusoids, a learned table, relative bias and rotation, from formulas."""

import math
from functools import partial

import pytest
import torch
from compare import agree, close, double, numbers, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.analysis.leaks import influence
from attnbook.course.kit.exercises import by_formula
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import (
    LearnedPositions,
    SinusoidalPositions,
    frequencies,
    shift_matrix,
    sinusoids,
)
from attnbook.nn.relative import (
    RelativeAttention,
    RelativeBias,
    first_query,
    relative_distances,
)
from attnbook.nn.rotary import RotaryAttention, rotate

widths = st.integers(1, 9)
even = st.sampled_from([2, 4, 6, 8])
lengths = st.integers(1, 6)
offsets = st.integers(0, 3000)
seeds = st.integers(0, 999)
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def code(p, d):
    """Section 3.5, with Python's own numbers; i counts pairs."""
    waves = math.sin, math.cos
    return [waves[c % 2](p / 10000 ** ((c - c % 2) / d)) for c in range(d)]


def vectors(*shape, seed=0):
    return numbers(seed, shape)[0].detach()


def relative(max_distance, d=8, h=2, **kwargs):
    """With a bias that has been learned: at the start it is zero."""
    mha = double(RelativeAttention, d, h, max_distance=max_distance, **kwargs)
    torch.nn.init.normal_(
        mha.relative.table, generator=torch.Generator().manual_seed(0)
    )
    return mha


@given(lengths, widths, offsets)
def test_sinusoids_equal_the_formula(n, d, offset):
    table = sinusoids(n, d, offset, torch.float64)
    by_hand = [code(p, d) for p in range(offset, offset + n)]
    close(table, torch.tensor(by_hand, dtype=torch.float64), atol=1e-11)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_are_counted_exactly_in_every_type(dtype):
    """bfloat16 itself cannot tell position 4000 from 4001."""
    table = sinusoids(4, 16, 4000, dtype)
    assert table.dtype == dtype
    exact = sinusoids(4, 16, 4000, torch.float64)
    close(table.double(), exact, 4000 * 1e-7 + torch.finfo(dtype).eps)


@given(even, st.integers(-50, 50), offsets)
def test_one_matrix_turns_every_code_into_that_of_k_later(d, k, p):
    p = p + 50
    here, there = (sinusoids(1, d, at, torch.float64)[0] for at in (p, p + k))
    turn = shift_matrix(k, d)
    close(turn @ here, there, atol=1e-11)
    close(turn @ turn.T, torch.eye(d).double())


@pytest.mark.parametrize("d", [7, 8])
def test_sinusoidal_adds_the_codes(d):
    """No parameter, no buffer, no end."""
    add = SinusoidalPositions(d)
    assert not add.state_dict()
    x = vectors(2, 9, d)
    close(add(x), x + sinusoids(9, d, dtype=torch.float64))
    close(add(x, offset=5000), x + sinusoids(9, d, 5000, torch.float64))


def test_learned_adds_rows_of_its_table():
    add = double(LearnedPositions, 10, 4)
    x = vectors(2, 3, 4)
    for offset in (0, 5, 7):
        wanted = x + torch.stack([add.table[offset + i] for i in range(3)])
        agree(add(x, offset), wanted, add.parameters())
    add(x, 5).sum().backward()
    assert add.table.grad.any(-1).tolist() == [5 <= p < 8 for p in range(10)]


def test_learned_starts_as_large_as_sinusoids():
    torch.manual_seed(0)
    add = LearnedPositions(500, 64)
    close(add.table.detach().square().mean(), torch.tensor(0.5), atol=0.02)


@given(lengths, lengths, st.integers(0, 5), st.integers(1, 4))
def test_a_relative_bias_is_one_number_a_distance_and_head(t, s, offset, max_distance):
    module = double(RelativeBias, 3, max_distance)
    torch.nn.init.normal_(module.table)
    bias = module(t, s, offset)
    assert bias.shape == (3, t, s)
    for i in range(t):
        for j in range(s):
            k = max(-max_distance, min(max_distance, j - i - offset))
            assert torch.equal(bias[:, i, j], module.table[:, max_distance + k])
            assert relative_distances(t, s, offset)[i, j] == j - i - offset


@given(st.lists(st.integers(1, 2), max_size=2), lengths, even, offsets, seeds)
@settings(max_examples=30)
def test_rotation_equals_the_product_of_complex_numbers(lead, t, d, offset, seed):
    """A pair is a complex number, and position p turns it by p·ω."""
    (x,) = numbers(seed, (*lead, t, d))
    powers = torch.tensor([1 / 10000 ** (2 * i / d) for i in range(d // 2)]).double()
    angles = torch.arange(offset, offset + t)[:, None] * frequencies(d, torch.float64)
    close(frequencies(d, torch.float64), powers, atol=1e-7)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    agree(rotate(x, offset), torch.view_as_real(pairs * turns).flatten(-2), [x])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rotation_turns_far_positions_exactly_in_every_type(dtype):
    x = vectors(2, 3, 4, 8)
    out = rotate(x.to(dtype), 4000)
    assert out.dtype == dtype
    close(out.double(), rotate(x, 4000), 4 * (4000e-7 + torch.finfo(dtype).eps))


def by_hand(mha, x, t, mask, bias=None):
    """The last t places ask: turns as matrices, a number for each distance and head."""
    s, turn = x.shape[1], None
    if isinstance(mha, RotaryAttention):
        powers = [shift_matrix(-p, mha.d_model // mha.n_heads) for p in range(s)]

        def turn(y):
            turns = zip(powers[s - len(y) :], y, strict=True)
            return torch.stack([power @ row for power, row in turns])

    else:
        table, largest = mha.relative.table, mha.relative.table.shape[1] // 2
        places = [
            [max(-largest, min(largest, j - i)) + largest for j in range(s)]
            for i in range(s - t, s)
        ]
        own = stacked([[[row[n] for n in query] for query in places] for row in table])
        bias = own if bias is None else own + bias
    rows = [
        by_formula.multi_head(row[-t:], row, mha, mask, bias=bias, turn=turn)
        for row in x
    ]
    return torch.stack(rows)


@pytest.mark.parametrize("rotary", [True, False])
@given(lengths, st.integers(0, 3), st.integers(1, 4), st.booleans(), seeds)
@settings(max_examples=20)
def test_attention_by_distance_equals_the_formula(
    rotary, t, before, max_distance, causal, seed
):
    """Also with fewer queries than keys, and with distances beyond the largest."""
    mha = double(RotaryAttention, 8, 2) if rotary else relative(max_distance)
    s = before + t
    (x,) = numbers(seed, (2, s, 8))
    mask = causal_mask(t, s, before) if causal else torch.ones(t, s).bool()
    wanted, leaves = by_hand(mha, x, t, mask), [x, *mha.parameters()]
    agree(mha(x[:, -t:], x, x, mask), wanted, leaves)
    agree(mha(x[:, -t:], x, x, mask, need_weights=True)[0], wanted, leaves)
    (bias,) = numbers(seed, (2, t, s))
    wanted = by_hand(mha, x, t, mask, bias)
    agree(mha(x[:, -t:], x, x, mask, score_bias=bias[None]), wanted, [bias])


by_distance = pytest.mark.parametrize(
    "make", [partial(double, RotaryAttention, 8, 2), partial(relative, 3)]
)


@by_distance
def test_a_layer_by_distance_word_by_word_equals_all_at_once(make):
    """A query alone is the last place, not the first."""
    mha = make()
    x = vectors(2, 6, 8)
    together = mha(x, x, x, causal_mask(6))
    for i in range(6):
        so_far = x[:, : i + 1]
        close(mha(x[:, i : i + 1], so_far, so_far), together[:, i : i + 1])
    moved = influence(lambda x: mha(x, x, x, causal_mask(6)), x) > 0
    assert torch.equal(moved, causal_mask(6))


def test_relative_attention_starts_as_plain_attention():
    """And learns from there: every distance that occurs has a gradient."""
    mha = double(RelativeAttention, 8, 2, max_distance=3)
    plain = double(MultiHeadAttention, 8, 2)
    plain.load_state_dict(mha.state_dict(), strict=False)
    x = vectors(2, 4, 8)
    out = mha(x, x, x)
    close(out, plain(x, x, x))
    out.square().sum().backward()
    assert mha.relative.table.grad.isfinite().all()
    assert (mha.relative.table.grad != 0).all()
    added = {name for name, _ in mha.named_parameters()} - {
        name for name, _ in plain.named_parameters()
    }
    assert added == {"relative.table"}


@pytest.mark.parametrize(
    "make", [RotaryAttention, partial(RelativeAttention, max_distance=3)]
)
def test_dropout_and_bias_are_passed_on(make):
    mha = double(make, 8, 2, dropout=0.5, bias=False)
    assert mha.dropout == 0.5
    assert {name.split(".")[-1] for name, _ in mha.named_parameters()} <= {
        "weight",
        "table",
    }
    x = vectors(2, 6, 8)
    assert not torch.equal(mha.train()(x, x, x), mha(x, x, x))
    assert torch.equal(mha.eval()(x, x, x), mha(x, x, x))


x = torch.zeros(2, 3, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: LearnedPositions(64, 8)(torch.zeros(1, 65, 8)),
            "0 … 64 .* rows 0 … 63",
        ),
        (
            lambda: LearnedPositions(4, 8)(x, offset=2),
            "positions 2 … 4 are .*larger `max_len`",
        ),
        (
            lambda: LearnedPositions(4, 8)(x, offset=-1),
            "positions -1 … 1 are needed",
        ),
        (lambda: LearnedPositions(0, 8), "max_len is 0; .* from 1 on"),
        (
            lambda: LearnedPositions(4, 8)(x[..., :7]),
            r"x has shape \(2, 3, 7\).*\(B, T, 8\)",
        ),
        (lambda: SinusoidalPositions(0), "d_model is 0"),
        (lambda: SinusoidalPositions(7)(x), r"x has shape \(2, 3, 8\).*\(B, T, 7\)"),
        (lambda: SinusoidalPositions(8)(x[0]), r"x has shape \(3, 8\)"),
        (
            lambda: SinusoidalPositions(8)(x, -2),
            "offset is -2; positions are counted from 0",
        ),
        (lambda: sinusoids(3, 0), "d is 0"),
        (lambda: relative_distances(2, 3, offset=-1), "offset is -1; .* from 0 on"),
        (lambda: shift_matrix(1, 7), "width of 7 cannot be split into pairs"),
        (lambda: shift_matrix(1, 0), "width of 0 cannot"),
        (lambda: rotate(x[..., :5]), "width of 5 cannot be split .* even one"),
        (lambda: rotate(x, -1), "offset is -1"),
        (lambda: RelativeBias(2, 0), "max_distance is 0"),
        (lambda: RelativeBias(0, 2), "n_heads is 0"),
        (lambda: RotaryAttention(6, 2), "width of 3 cannot .* for each head"),
        (lambda: RotaryAttention(7, 2), "7 cannot be divided among 2 heads"),
        (
            lambda: RotaryAttention(8, 2)(x, x[:, :2], x[:, :2]),
            "3 queries for 2 keys: .* last positions .* use a plain MultiHeadAttention",
        ),
        (
            lambda: relative(2).float()(x, x[:, :2], x[:, :2]),
            "3 queries for 2 keys: .* last positions .* use a plain MultiHeadAttention",
        ),
        (lambda: first_query(5, 4), "5 queries for 4 keys"),
        (lambda: relative(0), "max_distance is 0; .* from 1 on"),
        (lambda: relative(2, d=7), "7 cannot be divided among 2 heads"),
        (lambda: relative(2, dropout=1.5), "dropout is 1.5"),
        (lambda: relative(2)(x[0], x, x), r"query has shape \(3, 8\)"),
        (lambda: relative(2)(x, x[..., :4], x), r"key has shape \(2, 3, 4\)"),
        (lambda: relative(2)(x, x, x[:1]), "have 2, 2 and 1 sentences"),
        (
            lambda: relative(2).float()(x, x, x, torch.ones(3, 3)),
            "torch.float32; it must be torch.bool",
        ),
        (
            lambda: relative(2)(x, x, x, torch.ones(2, 3, 3).bool()),
            r"\(2, 3, 3\): is its first axis B or H\?",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
