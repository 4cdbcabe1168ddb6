"""Batches of the toy language: reversed sources, and the next words of English."""

from itertools import islice

import torch

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import (
    SOURCE,
    make_batch,
    next_word_batches,
    reverse_source,
    shifted_words,
)
from attnbook.toy.language import translate_by_rule


def test_reversed_source_keeps_its_alignment():
    pair = translate_by_rule("the old farmer sees a bird and a dog hears this cat")
    turned = reverse_source(pair)
    assert turned.source == pair.source[::-1]
    for j, k in zip(pair.alignment, turned.alignment, strict=True):
        assert (j is None) == (k is None)
        assert j is None or pair.source[j] == turned.source[k]
    assert make_batch([turned]).src[0, -1] == EOS


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
    streams = [next_word_batches(of, 3, batch_size=8) for of in (target_mask, key_mask)]
    for (ids, mask, targets), (same, _, _) in islice(zip(*streams, strict=True), 3):
        assert len(ids) == 8
        assert torch.equal(mask, target_mask(ids))
        assert torch.equal(
            targets[:, :-1][ids[:, 1:] > EOS], ids[:, 1:][ids[:, 1:] > EOS]
        )
        assert ((targets == SOURCE.ids["and"]).sum(1) <= 1).all()
        assert torch.equal(ids, same)
