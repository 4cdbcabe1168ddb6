"""Batches of few shapes: nothing is lost, and missing rows change no loss."""

import random
from collections import Counter

import pytest
import torch
from compare import close

from attnbook.core.vocabulary import PAD
from attnbook.data.batching import IdPair, id_batch
from attnbook.data.fixed_shapes import (
    fixed_batch,
    fixed_batches,
    fixed_length,
    fixed_shape,
)


def pairs(n, max_len=30, seed=0):
    rng = random.Random(seed)

    def words():
        return [rng.randrange(4, 20) for _ in range(rng.randint(1, max_len))]

    return [IdPair(words(), words()) for _ in range(n)]


def test_lengths_are_few_and_waste_little():
    fixed = [fixed_length(n) for n in range(1, 257)]
    assert sorted(set(fixed))[:9] == [8, 10, 12, 14, 16, 20, 24, 28, 32]
    assert len(set(fixed)) == 21
    for n, length in enumerate(fixed, start=1):
        assert n <= length < max(9, 1.25 * n)
        assert fixed_length(length) == length


def test_every_pair_is_in_one_batch_and_fits_its_shape():
    given = pairs(500)
    batches = fixed_batches(given, 128, random.Random(0))
    assert Counter(map(str, given)) == Counter(str(p) for b in batches for p in b)
    shapes = Counter()
    for batch in batches:
        made = fixed_batch(batch, 128)
        assert {ids.shape for ids in made} == {torch.Size(fixed_shape(batch, 128))}
        assert made.src.numel() <= 128
        shapes[made.src.shape] += 1
    assert len(shapes) <= 9
    # The last of all lacks rows, and those of pairs carried to a longer length may.
    assert sum(len(b) < fixed_shape(b, 128)[0] for b in batches) < 5


def test_a_pair_longer_than_a_batch_gets_one_to_itself():
    long = IdPair([5] * 99, [6])
    batches = fixed_batches([long, long, *pairs(5, 4)], 40, random.Random(0))
    assert [b for b in batches if long in b] == [[long], [long]]
    assert fixed_batch([long], 40).src.shape == (1, 112)


def test_batches_are_drawn_anew_and_the_same_seed_draws_the_same():
    given = pairs(50)
    first, again, other = (
        fixed_batches(given, 64, random.Random(s)) for s in (0, 0, 1)
    )
    assert first == again != other


def test_a_fixed_batch_is_the_plain_one_with_more_padding():
    given = pairs(3, 9)
    for plain, fixed in zip(id_batch(given), fixed_batch(given, 120), strict=True):
        b, n = plain.shape
        assert plain.dtype == fixed.dtype
        close(fixed[:b, :n], plain)
        assert (fixed[b:] == PAD).all()
        assert (fixed[:, n:] == PAD).all()
        assert fixed.shape[0] > b


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"at least one"):
        fixed_batch([], 100)
    with pytest.raises(ValueError, match=r"9 pairs of 10 positions do not fit into 80"):
        fixed_batch([IdPair([5] * 9, [5])] * 9, 80)
    with pytest.raises(ValueError, match=r"batch_tokens is 0"):
        fixed_batches(pairs(2), 0, random.Random(0))
    with pytest.raises(ValueError, match=r"n is 0"):
        fixed_length(0)
