"""The four scores: equal to the papers' formulas, values and gradients."""

import torch
from compare import double, numbers, same, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.nn.scores import (
    AdditiveScore,
    DotScore,
    GeneralScore,
    LocationScore,
    make_score,
)
from attnbook.toy.data import make_batch
from attnbook.toy.language import MAX_CLAUSES, translate_by_rule

small = st.integers(1, 4)
seeds = st.integers(0, 999)


def each_pair(query, states, score):
    """Score step t of sentence i against place j, one after the other: (B, T, S)."""
    pairs = zip(query, states, strict=True)
    return stacked([[[score(s, h) for h in hs] for s in ss] for ss, hs in pairs])


def dot_by_loop(s, h):
    return sum(s[k] * h[k] for k in range(len(s)))


def general_by_loop(s, h, w):
    return sum(s[i] * w[i, k] * h[k] for i in range(len(s)) for k in range(len(h)))


def additive_by_loop(s, h, w, u, v):
    """Bahdanau's form, with two matrices."""
    entries = zip(v, w, u, strict=True)
    return sum(
        x * torch.tanh(dot_by_loop(a, s) + dot_by_loop(b, h)) for x, a, b in entries
    )


@given(small, small, small, small, small, seeds)
@settings(max_examples=15)
def test_additive_score_equals_the_loop(rows, steps, positions, q, k, seed):
    score = double(AdditiveScore, q, k, 3, seed=seed)
    query, states = numbers(seed, (rows, steps, q), (rows, positions, k))
    w, u, v = score.W.weight, score.U.weight, score.v.weight[0]
    ours = score(query, score.prepare(states))
    loop = each_pair(query, states, lambda s, h: additive_by_loop(s, h, w, u, v))
    same(ours, loop, [query, states, *score.parameters()])


@given(small, small, small, small, seeds)
@settings(max_examples=15)
def test_dot_score_equals_the_loop(rows, steps, positions, width, seed):
    score = DotScore(width, width)
    query, states = numbers(seed, (rows, steps, width), (rows, positions, width))
    ours = score(query, score.prepare(states))
    same(ours, each_pair(query, states, dot_by_loop), [query, states])


@given(small, small, small, small, small, seeds)
@settings(max_examples=15)
def test_general_score_equals_the_loop(rows, steps, positions, q, k, seed):
    score = double(GeneralScore, q, k, seed=seed)
    query, states = numbers(seed, (rows, steps, q), (rows, positions, k))
    w = score.W.weight
    ours = score(query, score.prepare(states))
    loop = each_pair(query, states, lambda s, h: general_by_loop(s, h, w))
    same(ours, loop, [query, states, w])


@given(small, small, small, small, seeds)
@settings(max_examples=15)
def test_location_score_equals_the_loop(rows, steps, positions, q, seed):
    """Luong's equation 8; a short source uses the first rows (footnote 6)."""
    score = double(LocationScore, q, 3, max_len=4, seed=seed)
    query, states = numbers(seed, (rows, steps, q), (rows, positions, 3))
    w = score.W.weight
    loop = [
        [[dot_by_loop(w[j], s) for j in range(positions)] for s in ss] for ss in query
    ]
    ours = score(query, score.prepare(states))
    same(ours, stacked(loop), [query, states, w])


def test_the_longest_sentence_has_a_row_for_each_position():
    """Eight clauses of seven words, seven times "and", EOS."""
    words = " and ".join(["the old farmer sees a big bird"] * MAX_CLAUSES)
    positions = make_batch([translate_by_rule(words)]).src.shape[1]
    score = make_score("location", 4, 4)
    keys = score.prepare(torch.zeros(1, positions, 4))
    assert score(torch.zeros(1, 2, 4), keys).shape == (1, 2, positions)
