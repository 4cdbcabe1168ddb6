"""Predicting the next word of English sentences: a decoder's task without a source."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS
from attnbook.data.batching import pad, pooled
from attnbook.toy.data import SOURCE, toy_pairs
from attnbook.toy.language import Pair


def shifted_words(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """The input at each position, and its target: the next word.

    Args:
        pairs: B pairs; only their sources are used.

    Returns:
        Ids, (B, T), from ``BOS`` to the last word, and targets, (B, T), from the first
        word to ``EOS``.
    """
    sentences = [SOURCE.encode(pair.source) for pair in pairs]
    return pad([[BOS, *s] for s in sentences]), pad([[*s, EOS] for s in sentences])


def next_word_batches(
    mask_of: Callable[[Tensor], Tensor], seed: int, batch_size: int = 64
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Fresh sentences of one and two clauses, without end.

    Args:
        mask_of: Makes the mask of a batch from its ids.
        seed: The same seed gives the same sentences.
        batch_size: Sentences per batch, B.

    Yields:
        Ids, (B, T), their mask, and targets, (B, T).
    """
    pairs = toy_pairs(seed, clauses=(1, 2))
    for group in pooled(pairs, batch_size, random.Random(seed)):
        ids, targets = shifted_words(group)
        yield ids, mask_of(ids), targets
