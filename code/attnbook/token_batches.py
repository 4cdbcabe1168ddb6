"""Batches of as many tokens, not as many sentences: Vaswani et al. 2017, §5.1."""

from __future__ import annotations

import random
from collections.abc import Sequence

from attnbook.batches import IdPair, id_batch
from attnbook.checks import check_sizes
from attnbook.vocabulary import PAD


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
