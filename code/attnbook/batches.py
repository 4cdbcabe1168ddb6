"""From sentence pairs to padded batches."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.checks import check_sizes
from attnbook.toy_language import SOURCE_WORDS, TARGET_WORDS, Pair, sample_pair
from attnbook.vocabulary import BOS, EOS, PAD, Vocabulary

SOURCE = Vocabulary(SOURCE_WORDS)
TARGET = Vocabulary(TARGET_WORDS)


class Batch(NamedTuple):
    """B sentence pairs as ids, padded on the right.

    The target appears twice, shifted by one: at each step the decoder reads ``tgt_in``
    and is to say ``tgt_out``.
    """

    src: Tensor  # (B, S)  words, EOS
    tgt_in: Tensor  # (B, T)  BOS, words
    tgt_out: Tensor  # (B, T)  words, EOS


def pad(sequences: Sequence[Sequence[int]]) -> Tensor:
    """Put sequences of ids into one rectangle, filled up with ``PAD`` on the right.

    Args:
        sequences: B sequences of any lengths but 0.

    Returns:
        (B, length of the longest), int64.

    Raises:
        ValueError: If there is no sequence, or one without any id.
    """
    if not sequences:
        raise ValueError("a batch of 0 sequences cannot be padded; give at least one")
    lengths = [len(s) for s in sequences]
    if 0 in lengths:
        raise ValueError(f"sequence {lengths.index(0)} is empty; leave it out")
    longest = max(lengths)
    # One flat array takes a third of the time of nested lists.
    flat = array("q")
    for s in sequences:
        flat.extend(s)
        flat.extend([PAD] * (longest - len(s)))
    return torch.frombuffer(flat, dtype=torch.int64).view(len(sequences), longest)


class IdPair(NamedTuple):
    """A sentence and its translation as ids, without ``BOS`` and ``EOS``."""

    source: list[int]
    target: list[int]


def id_batch(pairs: Sequence[IdPair]) -> Batch:
    """Put pairs of ids into one padded batch."""
    return Batch(
        src=pad([[*pair.source, EOS] for pair in pairs]),
        tgt_in=pad([[BOS, *pair.target] for pair in pairs]),
        tgt_out=pad([[*pair.target, EOS] for pair in pairs]),
    )


def make_batch(pairs: Sequence[Pair]) -> Batch:
    """Encode and pad pairs of the toy language."""
    return id_batch(
        [IdPair(SOURCE.encode(p.source), TARGET.encode(p.target)) for p in pairs]
    )


def pooled(
    pairs: Iterable[Pair], batch_size: int, rng: random.Random, pool: int = 16
) -> Iterator[list[Pair]]:
    """Group pairs of like length, so that little is padded.

    ``pool`` batches' worth of pairs are collected, sorted by source length and cut into
    batches, which are then given out in random order. Nothing is lost or repeated; the
    last batch may be smaller.

    Args:
        pairs: The pairs, maybe without end.
        batch_size: Pairs a batch.
        rng: Decides the order of the batches of a pool.
        pool: Batches a pool; 1 does not sort across batches at all.

    Yields:
        Lists of at most ``batch_size`` pairs.

    Raises:
        ValueError: If ``batch_size`` or ``pool`` is less than 1.
    """
    check_sizes(batch_size=batch_size, pool=pool)
    pairs = iter(pairs)
    while collected := list(islice(pairs, batch_size * pool)):
        collected.sort(key=lambda pair: len(pair.source))
        cut = [
            collected[i : i + batch_size] for i in range(0, len(collected), batch_size)
        ]
        rng.shuffle(cut)
        yield from cut


def toy_pairs(seed: int, clauses: Sequence[int] = (1, 2, 3, 4)) -> Iterator[Pair]:
    """Fresh sentences of the toy language without end; none is kept for a second use.

    Args:
        seed: The same seed gives the same sentences.
        clauses: The numbers of clauses to draw from, all alike.

    Yields:
        Pairs.
    """
    rng = random.Random(seed)
    while True:
        yield sample_pair(rng.choice(clauses), rng)


def toy_batches(
    seed: int, clauses: Sequence[int] = (1, 2, 3, 4), batch_size: int = 64
) -> Iterator[Batch]:
    """Batches of :func:`toy_pairs`, of like length, without end."""
    pairs = toy_pairs(seed, clauses)
    for group in pooled(pairs, batch_size, random.Random(seed)):
        yield make_batch(group)


def held_out_pairs(clauses: int, number: int = 512, seed: int = 12345) -> list[Pair]:
    """Sentences for testing: fixed, and drawn apart from those for training.

    Args:
        clauses: Clauses a sentence.
        number: How many sentences.
        seed: Leave it as it is to measure what the book measures.

    Raises:
        ValueError: If ``number`` is less than 1.
    """
    check_sizes(number=number)
    rng = random.Random(f"{seed}, {clauses} clauses")
    return [sample_pair(clauses, rng) for _ in range(number)]
