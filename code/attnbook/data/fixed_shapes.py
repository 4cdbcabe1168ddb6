"""Batches of a few fixed shapes, for CUDA graphs and ``torch.compile``.

A CUDA graph is recorded for tensors of one shape, and a compiled kernel is fastest for
one. Batches of similar length have about a hundred different shapes. Here lengths are
rounded up to a few values, and each length has one number of rows; the rest is ``PAD``.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.batching import Batch, IdPair

MIN_LENGTH = 8


def fixed_length(n: int) -> int:
    """Round a length up to one of a few: four between each power of 2 and the next.

    8, 10, 12, 14, 16, 20, 24, 28, 32, 40, … From 8 tokens on, at most a fifth of a
    row is padding that rounding adds.

    Args:
        n: Number of tokens of a sentence, from 1 on.
    """
    check_sizes(n=n)
    n = max(n, MIN_LENGTH)
    step = 2 ** ((n - 1).bit_length() - 3)
    return -(-n // step) * step


def fixed_shape(pairs: Sequence[IdPair], batch_tokens: int) -> tuple[int, int]:
    """Number of rows and length of the batch for these pairs, equal on both sides."""
    length = fixed_length(max(map(_longer_side, pairs)))
    return max(batch_tokens // length, 1), length


def fixed_batches(
    pairs: Sequence[IdPair], batch_tokens: int, rng: random.Random
) -> list[list[IdPair]]:
    """Cut pairs into batches for :func:`fixed_batch`.

    Every pair is in exactly one batch. Pairs left over at one length go into the first
    batches of the next length, so nearly all batches have all their rows.

    Args:
        pairs: The pairs.
        batch_tokens: Positions per batch on each side; a longer pair gets a batch to
            itself.
        rng: Decides which pairs of one length share a batch, and the order of the
            batches.

    Raises:
        ValueError: If ``batch_tokens`` is less than 1.
    """
    check_sizes(batch_tokens=batch_tokens)
    by_length: dict[int, list[IdPair]] = {}
    for pair in rng.sample(pairs, len(pairs)):
        by_length.setdefault(fixed_length(_longer_side(pair)), []).append(pair)
    batches: list[list[IdPair]] = []
    left: list[IdPair] = []
    for length in sorted(by_length):
        rows = max(batch_tokens // length, 1)
        left += by_length[length]
        while len(left) >= rows:
            batches.append(left[:rows])
            left = left[rows:]
    if left:
        batches.append(left)
    rng.shuffle(batches)
    return batches


def fixed_batch(pairs: Sequence[IdPair], batch_tokens: int) -> Batch:
    """Make a batch of a fixed shape from pairs of ids.

    Missing rows consist of ``PAD``: they are never attended to, attend to nothing, and
    do not count in the loss.

    Args:
        pairs: A batch of :func:`fixed_batches`.
        batch_tokens: The same as there.

    Raises:
        ValueError: If there is no pair, or there are more than such a batch has rows.
    """
    if not pairs:
        raise ValueError("a batch of 0 pairs cannot be made; give at least one")
    rows, length = fixed_shape(pairs, batch_tokens)
    if len(pairs) > rows:
        raise ValueError(
            f"{len(pairs)} pairs of {length} positions do not fit into {batch_tokens}; "
            "cut them by fixed_batches with the same batch_tokens"
        )
    return Batch(
        src=_rectangle([[*pair.source, EOS] for pair in pairs], rows, length),
        tgt_in=_rectangle([[BOS, *pair.target] for pair in pairs], rows, length),
        tgt_out=_rectangle([[*pair.target, EOS] for pair in pairs], rows, length),
    )


def _longer_side(pair: IdPair) -> int:
    """Number of positions that a pair needs, ``EOS`` included."""
    return max(len(pair.source), len(pair.target)) + 1


def _rectangle(sequences: Sequence[Sequence[int]], rows: int, length: int) -> Tensor:
    """Pad sequences to (rows, length) with ``PAD``, on the right and at the bottom."""
    lengths = torch.tensor([len(s) for s in sequences])
    ids = torch.full((rows, length), PAD)
    real = torch.arange(length) < lengths[:, None]  # (B, length)
    # One flat array and one mask take a fraction of the time of nested lists.
    flat = array("q", chain.from_iterable(sequences))
    ids[: len(sequences)].masked_scatter_(
        real, torch.frombuffer(flat, dtype=torch.int64)
    )
    return ids
