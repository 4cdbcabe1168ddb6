"""Positions: sinusoids, a learned table, relative bias and rotation, from formulas."""

import math

import pytest
import torch
from compare import agree, close, double, numbers, plain, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

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
from attnbook.nn.relative import RelativeAttention, RelativeBias, relative_distances
from attnbook.nn.rotary import rotate

widths = st.integers(1, 9)
even = st.sampled_from([2, 4, 6, 8])
lengths = st.integers(1, 6)
offsets = st.integers(0, 3000)
seeds = st.integers(0, 999)


def code(p, d):
    """Section 3.5, with Python's own numbers; i counts pairs."""
    waves = math.sin, math.cos
    return [waves[c % 2](p / 10000 ** ((c - c % 2) / d)) for c in range(d)]


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
    x = plain(0, 2, 9, d)
    close(add(x), x + sinusoids(9, d, dtype=torch.float64))
    close(add(x, offset=5000), x + sinusoids(9, d, 5000, torch.float64))


def test_learned_adds_rows_of_its_table():
    add = double(LearnedPositions, 10, 4)
    x = plain(0, 2, 3, 4)
    for offset in (0, 5, 7):
        wanted = x + torch.stack([add.table[offset + i] for i in range(3)])
        agree(add(x, offset), wanted, add.parameters())
    add(x, 5).sum().backward()
    assert add.table.grad.any(-1).tolist() == [5 <= p < 8 for p in range(10)]


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


def by_hand(mha, x, t, mask, bias=None):
    """The last t places ask: a number for each distance and head."""
    s, table, largest = x.shape[1], mha.relative.table, mha.relative.table.shape[1] // 2
    places = [
        [max(-largest, min(largest, j - i)) + largest for j in range(s)]
        for i in range(s - t, s)
    ]
    own = stacked([[[row[n] for n in query] for query in places] for row in table])
    bias = own if bias is None else own + bias
    rows = [by_formula.multi_head(row[-t:], row, mha, mask, bias=bias) for row in x]
    return torch.stack(rows)


@given(lengths, st.integers(0, 3), st.integers(1, 4), st.booleans(), seeds)
@settings(max_examples=20)
def test_relative_attention_equals_the_formula(t, before, max_distance, causal, seed):
    """Also with fewer queries than keys, and with distances beyond the largest."""
    mha, s = relative(max_distance), before + t
    (x,) = numbers(seed, (2, s, 8))
    mask = causal_mask(t, s, before) if causal else torch.ones(t, s).bool()
    wanted, leaves = by_hand(mha, x, t, mask), [x, *mha.parameters()]
    agree(mha(x[:, -t:], x, x, mask), wanted, leaves)
    agree(mha(x[:, -t:], x, x, mask, need_weights=True)[0], wanted, leaves)
    (bias,) = numbers(seed, (2, t, s))
    wanted = by_hand(mha, x, t, mask, bias)
    agree(mha(x[:, -t:], x, x, mask, score_bias=bias[None]), wanted, [bias])


def test_relative_attention_starts_as_plain_attention():
    """And learns from there: every distance that occurs has a gradient."""
    mha = double(RelativeAttention, 8, 2, max_distance=3)
    other = double(MultiHeadAttention, 8, 2)
    other.load_state_dict(mha.state_dict(), strict=False)
    x = plain(0, 2, 4, 8)
    out = mha(x, x, x)
    close(out, other(x, x, x))
    out.square().sum().backward()
    assert mha.relative.table.grad.isfinite().all()
    assert (mha.relative.table.grad != 0).all()


def test_relative_attention_passes_on_what_it_is_given():
    """Dropout, biases, groups; it turns to its positions step by step, too."""
    mha = double(RelativeAttention, 8, 2, max_distance=3, n_groups=1, bias=False)
    assert mha.W_K.weight.shape == (4, 8)
    assert mha.W_Q.bias is None
    x = plain(0, 2, 6, 8)
    together, cache = mha(x, x, x, causal_mask(6)), mha.start(x)
    for i in range(6):
        out, cache = mha.step(x[:, i : i + 1], cache)
        close(out, together[:, i : i + 1])


def test_learned_starts_as_large_as_sinusoids():
    torch.manual_seed(0)
    add = LearnedPositions(500, 64)
    close(add.table.detach().square().mean(), torch.tensor(0.5), atol=0.02)
