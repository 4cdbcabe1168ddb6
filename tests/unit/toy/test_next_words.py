"""Predicting the next word: inputs and targets."""

from itertools import islice

import torch

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import (
    SOURCE,
    next_word_batches,
    shifted_words,
)
from attnbook.toy.language import translate_by_rule


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
