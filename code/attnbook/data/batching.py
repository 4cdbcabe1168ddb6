"""Padding, and batches of sentence pairs grouped by length."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from attnbook.core.checks import check_sizes, check_texts
from attnbook.core.vocabulary import BOS, EOS, PAD

SentencePair = TypeVar("SentencePair", bound=Any)
"""Anything with a ``source``, such as :class:`IdPair`."""


class Batch(NamedTuple):
    """B sentence pairs as token ids, padded on the right.

    The target appears twice, shifted by one: at each step the decoder reads a token of
    ``tgt_in`` and should predict the token of ``tgt_out``.
    """

    src: Tensor  # (B, S)  tokens, EOS
    tgt_in: Tensor  # (B, T)  BOS, tokens
    tgt_out: Tensor  # (B, T)  tokens, EOS


def pad(sequences: Sequence[Sequence[int]]) -> Tensor:
    """Pad sequences of ids with ``PAD`` on the right, to the length of the longest.

    Args:
        sequences: B sequences, of any lengths from 1 on.

    Returns:
        (B, length of the longest), int64.

    Raises:
        ValueError: If there is no sequence, or one without any id.

    Examples:
        >>> pad([[4, 5, 6], [7]])
        tensor([[4, 5, 6],
                [7, 0, 0]])
    """
    if not sequences:
        raise ValueError("a batch of 0 sequences cannot be padded; give at least one")
    check_texts(sequences=sequences)
    for s in sequences:
        check_texts(sequence=s)
    lengths = [len(s) for s in sequences]
    if 0 in lengths:
        raise ValueError(f"sequence {lengths.index(0)} is empty; leave it out")
    max_len = max(lengths)
    # One flat array takes a third of the time of nested lists.
    flat = array("q")
    for s in sequences:
        flat.extend(s)
        flat.extend([PAD] * (max_len - len(s)))
    return torch.frombuffer(flat, dtype=torch.int64).view(len(sequences), max_len)


class IdPair(NamedTuple):
    """A sentence and its translation as ids, without ``BOS`` and ``EOS``."""

    source: list[int]
    target: list[int]


def id_batch(pairs: Sequence[IdPair]) -> Batch:
    """Make one padded batch of pairs of ids, with ``BOS`` and ``EOS`` added.

    Examples:
        >>> batch = id_batch([IdPair([4, 5], [6, 7, 8]), IdPair([4], [9])])
        >>> batch.src  # 2 ends a sentence, 0 is padding
        tensor([[4, 5, 2],
                [4, 2, 0]])
        >>> batch.tgt_in[1], batch.tgt_out[1]  # shifted by one; 1 begins a sentence
        (tensor([1, 9, 0, 0]), tensor([9, 2, 0, 0]))
    """
    return Batch(
        src=pad([[*pair.source, EOS] for pair in pairs]),
        tgt_in=pad([[BOS, *pair.target] for pair in pairs]),
        tgt_out=pad([[*pair.target, EOS] for pair in pairs]),
    )


def pooled(
    pairs: Iterable[SentencePair], batch_size: int, rng: random.Random, pool: int = 16
) -> Iterator[list[SentencePair]]:
    """Group pairs of similar length into batches, to reduce padding.

    ``pool`` batches' worth of pairs are collected, sorted by source length and cut into
    batches, which are then yielded in random order. Every pair occurs exactly once; one
    batch of the last pool may be smaller.

    Args:
        pairs: The pairs; may be endless.
        batch_size: Pairs per batch.
        rng: Shuffles the batches of each pool.
        pool: Batches per pool; 1 does not sort across batches at all.

    Yields:
        Lists of at most ``batch_size`` pairs.

    Raises:
        ValueError: If ``batch_size`` or ``pool`` is less than 1.
    """
    check_sizes(batch_size=batch_size, pool=pool)
    pairs = iter(pairs)
    while collected := list(islice(pairs, batch_size * pool)):
        collected.sort(key=lambda pair: len(pair.source))
        batches = [
            collected[i : i + batch_size] for i in range(0, len(collected), batch_size)
        ]
        rng.shuffle(batches)
        yield from batches


def token_batches(
    pairs: Sequence[IdPair], batch_tokens: int, rng: random.Random
) -> list[list[IdPair]]:
    """Cut pairs into batches of similar length and about ``batch_tokens`` tokens.

    Every pair is in exactly one batch. A padded batch has at most ``batch_tokens``
    positions on either side; a pair longer than that gets a batch to itself.

    Args:
        pairs: The pairs.
        batch_tokens: Positions per batch on each side, ``EOS`` and padding included.
        rng: Decides which pairs of equal length share a batch, and the order of the
            batches.

    Raises:
        ValueError: If ``batch_tokens`` is less than 1.
    """
    check_sizes(batch_tokens=batch_tokens)
    shuffled = rng.sample(pairs, len(pairs))
    shuffled.sort(key=lambda pair: (len(pair.target), len(pair.source)))
    batches: list[list[IdPair]] = []
    max_len = 0  # of the last batch
    for pair in shuffled:
        max_len = max(max_len, len(pair.source) + 1, len(pair.target) + 1)
        if not batches or (len(batches[-1]) + 1) * max_len > batch_tokens:
            batches.append([])
            max_len = max(len(pair.source), len(pair.target)) + 1
        batches[-1].append(pair)
    rng.shuffle(batches)
    return batches


def target_tokens(batches: Sequence[Sequence[IdPair]]) -> int:
    """Number of target tokens, including ``EOS`` but not padding."""
    return sum(len(pair.target) + 1 for pairs in batches for pair in pairs)


def padding_share(batches: Sequence[Sequence[IdPair]]) -> float:
    """Fraction of all positions, source and target, that are padding.

    Raises:
        ValueError: If there is no batch.
    """
    if not batches:
        raise ValueError("there are no batches; give at least one")
    padding = positions = 0
    for pairs in batches:
        batch = id_batch(pairs)
        for ids in (batch.src, batch.tgt_out):
            padding += (ids == PAD).sum().item()
            positions += ids.numel()
    return padding / positions
