"""From sentence pairs to padded batches."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS, PAD

SentencePair = TypeVar("SentencePair", bound=Any)
"""Anything with a ``source``, such as :class:`IdPair`."""


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


def pooled(
    pairs: Iterable[SentencePair], batch_size: int, rng: random.Random, pool: int = 16
) -> Iterator[list[SentencePair]]:
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


def token_batches(
    pairs: Sequence[IdPair], batch_tokens: int, rng: random.Random
) -> list[list[IdPair]]:
    """Cut pairs into batches of like length and about ``batch_tokens`` tokens.

    Every pair is in exactly one batch. A batch, padded, holds at most ``batch_tokens``
    places on either side; a pair longer than that gets a batch to itself.

    Args:
        pairs: The pairs.
        batch_tokens: Places a batch may have on each side, ``EOS`` and pads included.
        rng: Decides which of the pairs of like length go together, and the order of
            the batches.

    Raises:
        ValueError: If ``batch_tokens`` is less than 1.
    """
    check_sizes(batch_tokens=batch_tokens)
    shuffled = rng.sample(pairs, len(pairs))
    shuffled.sort(key=lambda pair: (len(pair.target), len(pair.source)))
    batches: list[list[IdPair]] = []
    longest = 0
    for pair in shuffled:
        longest = max(longest, len(pair.source) + 1, len(pair.target) + 1)
        if not batches or (len(batches[-1]) + 1) * longest > batch_tokens:
            batches.append([])
            longest = max(len(pair.source), len(pair.target)) + 1
        batches[-1].append(pair)
    rng.shuffle(batches)
    return batches


def padding_share(batches: Sequence[Sequence[IdPair]]) -> float:
    """Share of the places of both sides that hold nothing but ``PAD``."""
    pads = places = 0
    for pairs in batches:
        batch = id_batch(pairs)
        for ids in (batch.src, batch.tgt_out):
            pads += (ids == PAD).sum().item()
            places += ids.numel()
    return pads / places
