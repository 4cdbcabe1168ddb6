"""What chapter 1's experiments measure, at small size."""

import pytest

from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import NOUNS
from experiments import ch01


def test_wrong_words_are_counted_by_kind():
    pairs = held_out_pairs(1, 50)
    correct = [[w in NOUNS.values() for w in (*p.target, "<eos>")] for p in pairs]
    found = ch01.right_and_wrong(correct, pairs)
    assert found["right"] == {"determiner": 0, "adjective": 0, "noun": 1, "verb": 0}
    words = sum(len(pair.target) for pair in pairs)
    assert found["wrong"]["noun"] == 0
    assert found["wrong"]["verb"] == pytest.approx(50 / (words - 100), abs=6e-4)
