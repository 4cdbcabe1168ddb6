"""Batches by tokens: nothing lost, none too large, and few pads."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.data.batching import IdPair, padding_share, token_batches

sides = st.lists(st.integers(4, 9), min_size=1, max_size=12)
some_pairs = st.lists(st.builds(IdPair, sides, sides), max_size=40)


def numbered(lengths):
    """Pairs that are all different: the first id is the pair's number."""
    return [
        IdPair([10 + i, *[4] * (s - 1)], [5] * t) for i, (s, t) in enumerate(lengths)
    ]


def positions(batch):
    """Of a padded batch, the larger side, EOS included."""
    max_len = max(max(len(p.source), len(p.target)) + 1 for p in batch)
    return len(batch) * max_len


@given(some_pairs, st.integers(1, 60), st.integers(0, 9))
def test_every_pair_is_in_one_batch_and_none_is_too_large(pairs, batch_tokens, seed):
    batches = token_batches(pairs, batch_tokens, random.Random(seed))
    found = Counter((*p.source, 0, *p.target) for batch in batches for p in batch)
    assert found == Counter((*p.source, 0, *p.target) for p in pairs)
    for batch in batches:
        assert batch
        assert len(batch) == 1 or positions(batch) <= batch_tokens
    assert batches == token_batches(pairs, batch_tokens, random.Random(seed))


def test_batches_are_as_full_as_they_can_be():
    """A pair that has room in the batch before it, of its length, is not put apart."""
    pairs = numbered([(4, 4)] * 10)
    sizes = [len(b) for b in token_batches(pairs, 15, random.Random(0))]
    assert sorted(sizes) == [1, 3, 3, 3]
    assert [len(b) for b in token_batches(pairs, 50, random.Random(0))] == [10]


def test_a_long_source_makes_no_later_batch_small():
    """Pairs come by the length of their targets: a source before them may be longer."""
    pairs = numbered([(9, 2)] * 2 + [(2, 3)] * 6)
    sizes = [len(b) for b in token_batches(pairs, 20, random.Random(0))]
    assert sorted(sizes) == [1, 2, 5]


@pytest.mark.parametrize("lengths", [(4, 9), (9, 4)], ids=["target", "source"])
def test_the_longer_side_counts(lengths):
    pairs = numbered([lengths] * 4)
    sizes = [len(b) for b in token_batches(pairs, 20, random.Random(0))]
    assert sizes == [2, 2]


def test_the_seed_decides_mates_and_order():
    pairs = numbered([(n, n) for n in range(1, 9) for _ in range(8)])
    one, other = (token_batches(pairs, 30, random.Random(seed)) for seed in (0, 1))
    assert one != other
    assert sorted(map(sorted, one)) != sorted(map(sorted, other))
    max_len = [max(len(p.target) for p in batch) for batch in one]
    assert max_len != sorted(max_len)
    assert max_len != sorted(max_len, reverse=True)


def test_padding_is_counted_on_both_sides():
    """Sources of 1 and 3 words, targets of 2 and 1, and an EOS each: 3 pads of 14."""
    pairs = [IdPair([4], [5, 6]), IdPair([4, 5, 6], [7])]
    assert padding_share([pairs]) == pytest.approx(3 / 14)
    assert padding_share([pairs[:1], pairs[1:]]) == 0
    assert padding_share([pairs, pairs[:1]]) == pytest.approx(3 / 19)
