"""Vocabulary, padding, pools: ids round-trip, nothing is lost, nothing is repeated."""

import random
from collections import Counter
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from attnbook.core.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
from attnbook.data.batching import pad, pooled
from attnbook.nn.masks import padding_mask
from attnbook.toy.data import held_out_pairs, make_batch, toy_pairs

sequences = st.lists(st.lists(st.integers(3, 99), min_size=1, max_size=9), min_size=1)


def test_special_ids():
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    vocabulary = Vocabulary(["bird"])
    assert vocabulary.encode(["bird"]) == [4]
    assert vocabulary.decode([BOS, 4, 4, EOS, 4, PAD]) == ["bird", "bird"]


@given(sequences)
def test_pad_keeps_every_id_and_fills_on_the_right(rows):
    padded = pad(rows)
    assert padded.shape == (len(rows), max(map(len, rows)))
    mask = padding_mask(padded)
    assert mask.sum(1).tolist() == [len(row) for row in rows]
    for row, real, ids in zip(rows, mask, padded, strict=True):
        assert ids[real].tolist() == row
        assert real.tolist() == sorted(real.tolist(), reverse=True)  # pads come last


@given(st.integers(1, 80), st.integers(1, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_pools_lose_and_repeat_nothing(number, batch_size, pool, seed):
    pairs = list(islice(toy_pairs(seed), number))
    groups = list(pooled(pairs, batch_size, random.Random(seed), pool))
    assert Counter(p for g in groups for p in g) == Counter(pairs)
    assert all(1 <= len(group) <= batch_size for group in groups)


def test_pools_save_padding():
    pairs = list(islice(toy_pairs(0), 1024))

    def padding(pool):
        groups = pooled(pairs, 64, random.Random(0), pool)
        masks = [padding_mask(make_batch(group).src) for group in groups]
        cells = sum(mask.numel() for mask in masks)
        return 1 - sum(mask.sum().item() for mask in masks) / cells

    assert padding(pool=16) < 0.1 < 0.35 < padding(pool=1)


def test_held_out_pairs_are_fixed():
    assert held_out_pairs(2, 5) == held_out_pairs(2, 9)[:5]
    assert all(pair.clauses == 3 for pair in held_out_pairs(3, 5))


def test_held_out_pairs_are_not_seen_in_training():
    """One-clause sentences repeat now and then by chance, longer ones do not."""
    seen = {p.source for p in islice(toy_pairs(0), 100 * 64)}
    for clauses in (2, 3, 4):
        assert not seen & {p.source for p in held_out_pairs(clauses)}
    assert len(seen & {p.source for p in held_out_pairs(1)}) < 0.05 * 512
