"""Model 1: one round by hand, and the toy language, where the truth is known."""

import pytest

from attnbook.analysis.ibm_model1 import (
    NULL_WORD,
    align_words,
    diagonal,
    head_agreement,
    train_ibm_model1,
)
from attnbook.data.batching import IdPair
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.models import load_toy_model

HOUSE, THE, HAUS, DAS = 10, 11, 20, 21


def test_one_round_is_counting():
    pairs = [IdPair([HOUSE], [HAUS]), IdPair([THE, HOUSE], [DAS, HAUS])]
    table = train_ibm_model1(pairs, iterations=1)
    # A target word is shared out over the source words and nothing: 1/2, then 1/3.
    assert table[HOUSE, HAUS] == pytest.approx((1 / 2 + 1 / 3) / (1 / 2 + 2 / 3))
    assert table[THE, DAS] == pytest.approx(1 / 2)
    assert table[NULL_WORD, DAS] == pytest.approx((1 / 3) / (1 / 2 + 2 / 3))


def test_an_unknown_word_renders_nothing():
    table = train_ibm_model1([IdPair([10], [20])], iterations=2)
    assert align_words(IdPair([10], [99]), table) == [None]


def test_heads_of_the_toy_model_align():
    """It attends where it should, so it agrees with Model 1 where that is right."""
    pairs = held_out_pairs(2, 300)
    ids = [IdPair(SOURCE.encode(p.source), TARGET.encode(p.target)) for p in pairs]
    table = train_ibm_model1(ids)
    found = head_agreement(load_toy_model("transformer"), ids[:50], table)
    assert [len(layer) for layer in found.heads] == [4, 4]
    assert min(map(min, found.heads)) < found.mean
    aligned = [align_words(pair, table) for pair in ids[:50]]
    truth = [pair.alignment for pair in pairs[:50]]
    diagonals = [diagonal(pair) for pair in ids[:50]]
    for entry, others, off in (("mean", truth, 0.05), ("diagonal", diagonals, 1e-4)):
        right = [
            j == k
            for one, other in zip(aligned, others, strict=True)
            for j, k in zip(one, other, strict=True)
            if j is not None
        ]
        assert getattr(found, entry) == pytest.approx(sum(right) / len(right), abs=off)


def test_the_diagonal_is_as_far_along():
    assert diagonal(IdPair([5] * 3, [6] * 5)) == [0, 0, 1, 2, 2]
    assert diagonal(IdPair([5] * 4, [6])) == [0]


def test_rounds_must_be_some():
    with pytest.raises(ValueError, match="from 1 on"):
        train_ibm_model1([], iterations=0)


def test_without_a_source_nothing_is_aligned():
    assert align_words(IdPair([], [5, 6]), {}) == [None, None]
