"""Byte-pair encoding by hand, against its definition and against tokenizers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from attnbook.data.bpe_from_scratch import (
    apply_merges,
    count_pairs,
    learn_merges,
    merge_pair,
)

TEN = {
    "▁hand": 3,
    "▁sand": 8,
    "▁man": 5,
    "▁stand": 2,
    "▁standing": 2,
    "▁playing": 5,
    "▁running": 4,
    "▁in": 1,
    "▁hands": 1,
    "▁ring": 6,
}
texts = st.dictionaries(
    st.text("abc", min_size=1, max_size=6), st.integers(1, 9), min_size=1, max_size=6
)


def trained(words, number):
    """The merges of Hugging Face's library, and the tokenizer that has them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    size = len(set("".join(words))) + number
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False)
    every = (word for word, n in words.items() for _ in range(n))
    tokenizer.train_from_iterator(every, trainer)
    found = json.loads(tokenizer.to_str())["model"]["merges"]
    return [tuple(pair) for pair in found], tokenizer


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ("aaa", ["aa", "a"]),
        ("aaaa", ["aa", "aa"]),
        ("baab", ["b", "aa", "b"]),
        ("aba", ["a", "b", "a"]),
        (["a", "a", "aa"], ["aa", "aa"]),  # not joined again
        ("", []),
    ],
)
def test_a_pair_is_joined_from_left_to_right(parts, joined):
    assert merge_pair(list(parts), ("a", "a")) == joined


def test_the_ten_words_of_the_page():
    learned = learn_merges(TEN, 8)
    joined = ["".join(pair) for pair in learned]
    assert joined == ["an", "in", "ing", "and", "▁s", "▁r", "▁sand", "▁ring"]
    assert apply_merges("▁landing", learned) == ["▁", "l", "and", "ing"]
    assert learn_merges({"ab": 2, "c": 1}, 10) == [("a", "b")]


@given(texts, st.integers(1, 8))
def test_each_merge_joins_a_most_frequent_pair(words, number):
    """Ours and theirs: among pairs that are equally frequent they may differ."""
    theirs, _ = trained(words, number)
    for learned in (learn_merges(words, number), theirs):
        pieces = {word: list(word) for word in words}
        for pair in learned:
            counts = count_pairs(pieces, words)
            assert counts[pair] == max(counts.values())
            pieces = {word: merge_pair(parts, pair) for word, parts in pieces.items()}


@given(texts, st.integers(1, 8), st.text("abc", min_size=1, max_size=8))
def test_words_are_cut_as_by_tokenizers(words, number, word):
    learned, tokenizer = trained(words, number)
    known = set("".join(words))
    if set(word) <= known:  # others are unknown to it, and fall out
        assert apply_merges(word, learned) == tokenizer.encode(word).tokens
    assert "".join(apply_merges(word, learned)) == word
