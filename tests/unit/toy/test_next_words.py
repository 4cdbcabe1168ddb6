"""Predicting the next word: inputs, targets, and the best that can be reached."""

from collections import Counter, defaultdict
from itertools import islice

import pytest
import torch

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE, held_out_pairs, toy_pairs
from attnbook.toy.language import NOUNS, translate_by_rule
from attnbook.toy.next_words import (
    best_next_word_accuracy,
    next_word_batches,
    shifted_words,
)


def test_targets_are_the_inputs_shifted_by_one():
    sentences = "a dog sees a cat", "the old farmer sees a bird"
    ids, targets = shifted_words([*map(translate_by_rule, sentences)])
    assert ids.shape == targets.shape == (2, 7)
    assert ids[:, 0].tolist() == [BOS, BOS]
    assert targets[1, -1] == EOS
    assert (targets[1, :-1] == ids[1, 1:]).all()
    assert SOURCE.decode(targets[0].tolist()) == sentences[0].split()
    assert ids[0, -1] == targets[0, -1] == PAD


def test_batches_hold_the_mask_of_their_ids():
    stream = next_word_batches(target_mask, seed=3, batch_size=8)
    for ids, mask, targets in islice(stream, 3):
        assert targets.shape == ids.shape
        assert len(ids) == 8
        assert torch.equal(mask, target_mask(ids))
        assert ((targets == SOURCE.ids["and"]).sum(1) <= 1).all()
    again, _, _ = next(next_word_batches(key_mask, seed=3, batch_size=8))
    first, _, _ = next(next_word_batches(target_mask, seed=3, batch_size=8))
    assert torch.equal(again, first)


def steps(pairs):
    """Each target, and what its odds depend on: the word before, nouns so far."""
    for pair in pairs:
        before, nouns = None, 0
        for word in (*pair.source, "<eos>"):
            yield (before, nouns), word
            before, nouns = word, nouns + (word in NOUNS)


def test_the_best_accuracy_is_that_of_the_most_frequent_next_word():
    counts = defaultdict(Counter)
    for state, word in steps(islice(toy_pairs(seed=1, clauses=(1, 2)), 10_000)):
        counts[state][word] += 1
    guesses = {state: count.most_common(1)[0][0] for state, count in counts.items()}
    fresh = [*islice(toy_pairs(seed=2, clauses=(1, 2)), 10_000)]
    right = [word == guesses[state] for state, word in steps(fresh)]
    found = best_next_word_accuracy(fresh)
    assert found == pytest.approx(sum(right) / len(right), abs=0.004)


def test_the_best_accuracy_of_one_sentence():
    """the cat sees a dog <eos>: 1/3 1/7 1/8 1/3 1/6 1/2."""
    odds = [1 / 3, 1 / 7, 1 / 8, 1 / 3, 1 / 6, 1 / 2]
    found = best_next_word_accuracy([translate_by_rule("the cat sees a dog")])
    assert found == pytest.approx(sum(odds) / 6)
    assert best_next_word_accuracy(held_out_pairs(1, 8)) != found


def test_its_grammar_ends_after_two_clauses():
    with pytest.raises(ValueError, match="has 3 clauses; give sentences of one or two"):
        best_next_word_accuracy(held_out_pairs(3, 2))
