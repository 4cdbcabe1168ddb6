"""BLEU by hand: against numbers worked out on paper, and against sacreBLEU."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from attnbook.translation.bleu_from_scratch import (
    bleu,
    brevity_penalty,
    matching_ngrams,
    modified_precision,
    ngrams,
)

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=4, max_size=12)


def test_runs_are_counted_and_clipped():
    output = ["a", "dog", "a", "dog", "a", "dog", "a", "dog"]
    right = ["a", "dog", "runs", "after", "a", "dog"]
    assert ngrams(output, 2) == {("a", "dog"): 4, ("dog", "a"): 3}
    assert [matching_ngrams(output, right, n) for n in (1, 2, 3, 4)] == [4, 2, 0, 0]
    assert modified_precision([output], [right], 2) == 2 / 7
    assert ngrams(["a"], 2).total() == 0


def test_brevity_is_punished_and_length_is_not():
    four, eight = [["a"] * 4], [["a"] * 8]
    assert brevity_penalty(four, eight) == math.exp(1 - 2)
    assert brevity_penalty(eight, four) == brevity_penalty(four, four) == 1


def test_the_brevity_penalty_of_nothing_is_the_limit():
    """It falls to 0 with the length, and two empty sides are as long as each other."""
    long = [brevity_penalty([["a"] * n], [["a"] * 1000]) for n in (100, 10, 2)]
    assert long == sorted(long, reverse=True)
    assert long[-1] < 1e-200
    assert brevity_penalty([[]], [["a"]]) == brevity_penalty([[], []], [["a"], []]) == 0
    assert brevity_penalty([[]], [[]]) == brevity_penalty([], []) == 1
    assert brevity_penalty([["a"]], [[]]) == 1


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_it_is_what_sacrebleu_says(pairs):
    output, right = map(list, zip(*pairs, strict=True))
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    wanted = metric.corpus_score(
        [" ".join(words) for words in output], [[" ".join(words) for words in right]]
    )
    assert bleu(output, right) == pytest.approx(wanted.score)


def test_sentences_must_be_as_many_and_long_enough():
    with pytest.raises(ValueError, match="4 words"):
        bleu([["a", "b", "c"]], [["a", "b", "c"]])
    with pytest.raises(ValueError, match="shorter"):
        bleu([list("abcd")] * 2, [list("abcd")])
