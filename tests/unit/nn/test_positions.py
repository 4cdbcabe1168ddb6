"""Positions: sinusoids, a learned table, relative bias and rotation, from formulas."""

import math
from functools import partial

import pytest
import torch
from compare import DEVICES, agree, close, double, numbers, project, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.analysis.leaks import influence
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


@given(lengths, widths, offsets)
def test_an_offset_continues_the_table(n, d, offset):
    """Position 0 is given once, and no row depends on what was asked before."""
    whole = sinusoids(offset + n, d)
    close(sinusoids(n, d, offset), whole[offset:], atol=1e-6)


def test_an_odd_width_lacks_the_last_cosine():
    close(sinusoids(5, 7, 2), sinusoids(5, 7, 2, torch.float64).float(), 1e-6)
    assert sinusoids(5, 1).shape == (5, 1)
    close(sinusoids(5, 1, dtype=torch.float64)[:, 0], torch.arange(5).double().sin())


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_are_counted_exactly_in_every_type(dtype):
    """bfloat16 itself cannot tell position 4000 from 4001."""
    table = sinusoids(4, 16, 4000, dtype)
    assert table.dtype == dtype
    exact = sinusoids(4, 16, 4000, torch.float64)
    close(table.double(), exact, 4000 * 1e-7 + torch.finfo(dtype).eps)


def test_the_wavelength_belongs_to_the_pair_and_not_to_the_position():
    """Pair 64 of 512: 62.8, measured near 0 and far away; the last pair."""

    def period(start, i):
        wave = sinusoids(5000, 512, start, torch.float64)[:, 2 * i]
        rising = ((wave[:-1] < 0) & (wave[1:] >= 0)).nonzero()[:, 0]
        return (rising[-1] - rising[0]).item() / (len(rising) - 1)

    for i, wavelength in ((64, 62.832), (128, 628.32)):
        assert 2 * math.pi / frequencies(512)[i].item() == pytest.approx(
            wavelength, 1e-4
        )
        assert period(0, i) == pytest.approx(wavelength, rel=0.005)
        assert period(40_000, i) == pytest.approx(wavelength, rel=0.005)
    max_len = 1 / frequencies(512, torch.float64)[-1].item()
    assert max_len == pytest.approx(9646.6, abs=0.1)


@given(even, st.integers(-50, 50), offsets)
def test_one_matrix_turns_every_code_into_that_of_k_later(d, k, p):
    p = p + 50
    here, there = (sinusoids(1, d, at, torch.float64)[0] for at in (p, p + k))
    turn = shift_matrix(k, d)
    close(turn @ here, there, atol=1e-11)
    close(turn @ turn.T, torch.eye(d).double())


def test_the_turn_is_made_of_turns():
    """Five and three are eight; there is a way back; zero is no turn."""
    close(shift_matrix(5, 8) @ shift_matrix(3, 8), shift_matrix(8, 8))
    close(shift_matrix(5, 8) @ shift_matrix(-5, 8), torch.eye(8).double())
    close(shift_matrix(0, 8), torch.eye(8).double(), atol=0)


def test_products_of_codes_depend_on_the_distance_alone():
    table = sinusoids(600, 64, dtype=torch.float64)
    for k in (1, 7, 50):
        products = (table[:-k] * table[k:]).sum(-1)
        close(products, products[:1].expand_as(products), atol=1e-10)


def test_codes_are_unique_and_as_large_as_one_half():
    table = sinusoids(2000, 64)
    distance = torch.cdist(table, table).fill_diagonal_(torch.inf)
    assert distance.min() > 1
    close(table.square().mean(-1), torch.full((2000,), 0.5), atol=1e-5)


@pytest.mark.parametrize("d", [7, 8])
def test_sinusoidal_adds_the_codes(d):
    """No parameter, no buffer, no end, in the type and on the device of x."""
    add = SinusoidalPositions(d)
    assert not add.state_dict()
    x = vectors(2, 9, d)
    close(add(x), x + sinusoids(9, d, dtype=torch.float64))
    close(add(x, offset=5000), x + sinusoids(9, d, 5000, torch.float64))
    for dtype in DTYPES:
        assert add(x.to(dtype)).dtype == dtype
    assert add(torch.empty(2, 9, d, device="meta")).device.type == "meta"


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


@pytest.mark.parametrize(
    "make", [SinusoidalPositions, lambda d: LearnedPositions(40, d)]
)
def test_word_by_word_equals_all_at_once(make):
    """With the offset; without it every word would stand at position 0."""
    add = double(make, 8)
    x = vectors(2, 6, 8)
    together = add(x)
    for i in range(6):
        close(add(x[:, i : i + 1], i), together[:, i : i + 1])
        forgotten = (add(x[:, i : i + 1]) - together[:, i : i + 1]).abs().max()
        assert (forgotten > 0.1) == (i > 0)


@pytest.mark.parametrize(
    "make", [SinusoidalPositions, lambda d: LearnedPositions(40, d)]
)
def test_padding_have_positions_too(make):
    """The shape decides, not the words."""
    x = torch.zeros(2, 4, 8)
    out = make(8)(x)
    assert out.shape == (2, 4, 8)
    assert torch.equal(out[0], out[1])


@pytest.mark.parametrize(
    "make", [SinusoidalPositions, lambda d: LearnedPositions(40, d)]
)
def test_attention_is_no_longer_blind_to_order(make):
    """Without positions it only carries the order over to its output."""
    add, mha = double(make, 8), double(MultiHeadAttention, 8, 2)
    x, order = vectors(1, 5, 8), torch.tensor([2, 0, 1, 4, 3])
    out, mixed = (mha(y, y, y) for y in (add(x), add(x[:, order])))
    assert (out[:, order] - mixed).abs().max() > 0.1


@given(lengths, lengths, st.integers(0, 5))
def test_distances_are_counted_from_query_to_key(t, s, offset):
    wanted = [[j - (offset + i) for j in range(s)] for i in range(t)]
    assert relative_distances(t, s, offset).tolist() == wanted


@pytest.mark.parametrize("device", DEVICES)
def test_distances_and_bias_are_where_they_are_asked_for(device):
    assert relative_distances(3, 4, device=device).device.type == device
    assert RelativeBias(2, 3).to(device)(3, 4).device.type == device


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


def test_a_relative_bias_learns_and_starts_at_nothing():
    bias, mha = double(RelativeBias, 2, 2), double(MultiHeadAttention, 8, 2)
    x = vectors(1, 5, 8)
    out = mha(x, x, x, score_bias=bias(5, 5)[None])
    close(out, mha(x, x, x))
    out.square().sum().backward()
    assert bias.table.grad.isfinite().all()
    assert (bias.table.grad != 0).all()


def test_a_relative_bias_tells_the_order():
    """Shifted words give shifted outputs; mixed words do not give mixed ones."""
    bias, mha = double(RelativeBias, 2, 2), double(MultiHeadAttention, 8, 2)
    torch.nn.init.normal_(bias.table)
    x = vectors(1, 5, 8)
    order = torch.tensor([2, 0, 1, 4, 3])
    out, mixed = (mha(y, y, y, score_bias=bias(5, 5)[None]) for y in (x, x[:, order]))
    assert (out[:, order] - mixed).abs().max() > 0.01
    whole = bias(7, 7)
    assert torch.equal(whole[:, 2:, 2:], bias(5, 5))
    assert torch.equal(whole[:, 5:], bias(2, 7, offset=5))


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


@given(even, offsets, offsets, st.integers(0, 100), seeds)
@settings(max_examples=30)
def test_rotated_products_depend_on_the_distance_alone(d, p, q, k, seed):
    a, b = vectors(1, d, seed=seed), vectors(1, d, seed=seed + 1)
    near = (rotate(a, p) * rotate(b, p + k)).sum()
    far = (rotate(a, q) * rotate(b, q + k)).sum()
    close(near, far, atol=1e-10)
    close(near, (a * rotate(b, k)).sum(), atol=1e-10)
    close(rotate(a, p).norm(), a.norm())


@given(even, st.integers(0, 20), seeds)
def test_rotation_is_the_way_back_of_the_shift_matrix(d, k, seed):
    """Sine before cosine is the other sense of turning."""
    a = vectors(1, d, seed=seed)
    close(rotate(a, k)[0], shift_matrix(-k, d) @ a[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rotation_keeps_type_and_device(dtype):
    x = vectors(2, 3, 4, 8)
    out = rotate(x.to(dtype), 4000)
    assert out.dtype == dtype
    close(out.double(), rotate(x, 4000), 4 * (4000e-7 + torch.finfo(dtype).eps))
    x = torch.empty(2, 3, 4, 8, device="meta", dtype=dtype)
    assert rotate(x).device.type == "meta"


def rotary_by_hand(mha, x):
    """Position by position, with matrices in place of pairs."""
    q, k, v = project(mha, x, x, x)
    d = q.shape[-1]
    turns = torch.stack([shift_matrix(-p, d) for p in range(x.shape[1])])  # (T, d, d)
    q, k = ((turns @ y[..., None])[..., 0] for y in (q, k))
    heads = (q @ k.mT / d**0.5).softmax(-1) @ v
    return mha.W_O(heads.transpose(1, 2).flatten(2))


def test_rotary_attention_equals_the_formula():
    mha = double(RotaryAttention, 8, 2)
    (x,) = numbers(0, (2, 5, 8))
    agree(mha(x, x, x), rotary_by_hand(mha, x), [x, *mha.parameters()])


by_distance = pytest.mark.parametrize(
    "make", [partial(double, RotaryAttention, 8, 2), partial(relative, 3)]
)


@by_distance
def test_a_layer_by_distance_does_not_know_where_a_sentence_begins(make):
    """The same words with pads before them: only distances count, and they do."""
    mha = make()
    x = vectors(1, 5, 8)
    later = torch.cat([vectors(1, 3, 8, seed=1), x], 1)
    mask = torch.tensor([False] * 3 + [True] * 5)[None, None, None]
    close(mha(later, later, later, mask)[:, 3:], mha(x, x, x))
    order = torch.tensor([2, 0, 1, 4, 3])
    y = x[:, order]
    assert (mha(y, y, y) - mha(x, x, x)[:, order]).abs().max() > 0.01


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


def relative_by_hand(mha, x, t, mask):
    """Number by number: the last T places ask, and each distance has its number."""
    q, k, v = project(mha, x[:, -t:], x, x)
    s, table = x.shape[1], mha.relative.table
    max_distance = table.shape[1] // 2
    places = [
        [max(-max_distance, min(max_distance, j - i)) + max_distance for j in range(s)]
        for i in range(s - t, s)
    ]
    bias = stacked([[[row[n] for n in query] for query in places] for row in table])
    scores = q @ k.mT / q.shape[-1] ** 0.5 + bias
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return mha.W_O((weights @ v).transpose(1, 2).flatten(2)), weights


@given(lengths, st.integers(0, 3), st.integers(1, 4), st.booleans(), seeds)
@settings(max_examples=20)
def test_relative_attention_equals_the_formula(t, before, max_distance, causal, seed):
    """Also with fewer queries than keys, and with distances beyond the largest."""
    mha, s = relative(max_distance), before + t
    (x,) = numbers(seed, (2, s, 8))
    mask = causal_mask(t, s, before) if causal else torch.ones(t, s).bool()
    by_hand, shares = relative_by_hand(mha, x, t, mask)
    parts = [x, *mha.parameters()]
    agree(mha(x[:, -t:], x, x, mask), by_hand, parts)
    out, weights = mha(x[:, -t:], x, x, mask, need_weights=True)
    agree(out, by_hand, parts)
    close(weights, shares)


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


@given(lengths, st.integers(0, 5))
def test_the_queries_are_the_last_positions(t, before):
    assert first_query(t, before + t) == before


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


def test_compiles_without_a_graph_break():
    """A word at a time too: the offset changes at each step."""
    torch._dynamo.reset()
    mha, bias = RotaryAttention(8, 2), RelativeBias(2, 3)
    fixed, learned = SinusoidalPositions(8), LearnedPositions(40, 8)

    def call(x, offset):
        x = learned(fixed(x, offset), offset)
        t = x.shape[1]
        return mha(x, x, x, score_bias=bias(t, t, offset)[None])

    fast = torch.compile(call, fullgraph=True, backend="eager")
    x = vectors(2, 4, 8).float()
    for offset in (0, 1, 2, 9):
        torch.testing.assert_close(fast(x, offset), call(x, offset))


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


def test_distances_from_before_the_first_position_are_refused():
    with pytest.raises(ValueError, match="offset is -1; positions are counted from 0"):
        relative_distances(2, 3, offset=-1)
