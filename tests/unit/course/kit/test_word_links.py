"""Model 1: one round by hand, and what more rounds do; the links that it gives."""

import pytest

from attnbook.course.kit.word_links import (
    NULL_WORD,
    WordLinks,
    diagonal,
    train_ibm_model1,
)
from attnbook.data.batching import IdPair

HOUSE, THE, HAUS, DAS = 10, 11, 20, 21


def test_one_round_is_counting():
    pairs = [IdPair([HOUSE], [HAUS]), IdPair([THE, HOUSE], [DAS, HAUS])]
    table = train_ibm_model1(pairs, iterations=1)
    # A target word is shared out over the source words and nothing: 1/2, then 1/3.
    assert table[HOUSE, HAUS] == pytest.approx((1 / 2 + 1 / 3) / (1 / 2 + 2 / 3))
    assert table[THE, DAS] == pytest.approx(1 / 2)
    assert table[NULL_WORD, DAS] == pytest.approx((1 / 3) / (1 / 2 + 2 / 3))


def test_rounds_separate_what_stands_together():
    pairs = [IdPair([THE, HOUSE], [DAS, HAUS]), IdPair([THE, 12], [DAS, 22])]
    first, later = (train_ibm_model1(pairs, iterations=n) for n in (1, 8))
    assert later[HOUSE, HAUS] > first[HOUSE, HAUS]


def test_rounds_must_be_some():
    with pytest.raises(ValueError, match="from 1 on"):
        train_ibm_model1([], iterations=0)


def test_the_diagonal_is_as_far_along():
    assert diagonal(IdPair([5] * 3, [6] * 5)) == [0, 0, 1, 2, 2]
    assert diagonal(IdPair([5] * 4, [6])) == [0]


# Links: each is the other's most probable origin, and sure enough

PAIRS = [
    (["The", "dog", "."], ["der", "Hund", "."]),
    (["the", "cat", "."], ["die", "Katze", "."]),
    (["a", "dog", "."], ["ein", "Hund", "."]),
]


def test_each_is_the_others_origin_whatever_its_case():
    """Punctuation marks aren't linked, nor are words that were never seen."""
    links = WordLinks(PAIRS)
    assert links.between(["a", "Dog", "."], ["Ein", "hund", "."]) == {0: 0, 1: 1}
    assert links.between(["horse", "dog"], ["Hund", "Pferd"]) == {0: 1}
    assert links.between(["dog"], ["Hund", "Hund"]) == {0: 0}
    assert links.between([], ["Hund"]) == {}


def test_what_is_unsure_is_not_linked():
    assert WordLinks(PAIRS, sure=0.999).between(["the"], ["der"]) == {}
    assert WordLinks(PAIRS, sure=0.2).between(["the"], ["der"]) == {0: 0}
