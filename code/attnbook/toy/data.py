"""Pairs and batches of the toy language: endless for training, fixed for testing.

Two tasks: translating, and predicting the next word of English sentences.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from attnbook.core.checks import check_sizes, check_texts
from attnbook.core.vocabulary import BOS, EOS, Vocabulary
from attnbook.data.batching import Batch, IdPair, id_batch, pad, pooled
from attnbook.toy.language import SOURCE_WORDS, TARGET_WORDS, Pair, sample_pair

SOURCE = Vocabulary(SOURCE_WORDS)
TARGET = Vocabulary(TARGET_WORDS)
CLAUSES = (1, 2, 3, 4)  # of the training sentences


def make_batch(
    pairs: Sequence[Pair], device: torch.device | str | None = None
) -> Batch:
    """Encode and pad pairs of the toy language.

    Args:
        pairs: B pairs.
        device: The device of the batch; by default the CPU.
    """
    check_texts(pairs=pairs)
    batch = id_batch(
        [IdPair(SOURCE.encode(p.source), TARGET.encode(p.target)) for p in pairs]
    )
    return Batch(*(ids.to(device) for ids in batch))


def toy_pairs(seed: int, clauses: Sequence[int] = CLAUSES) -> Iterator[Pair]:
    """Sample training sentences of the toy language, without end.

    Args:
        seed: The same seed gives the same sentences.
        clauses: The possible numbers of clauses, sampled uniformly.
    """
    rng = random.Random(seed)
    while True:
        yield sample_pair(rng.choice(clauses), rng)


def toy_batches(
    seed: int, clauses: Sequence[int] = CLAUSES, batch_size: int = 64
) -> Iterator[Batch]:
    """Endless batches of :func:`toy_pairs`, grouped by length."""
    pairs = toy_pairs(seed, clauses)
    for group in pooled(pairs, batch_size, random.Random(seed)):
        yield make_batch(group)


def held_out_pairs(clauses: int, number: int = 512, seed: int = 12345) -> list[Pair]:
    """A fixed test set, sampled independently of the training sentences.

    Args:
        clauses: Number of clauses of each sentence.
        number: Number of sentences.
        seed: Keep the default to measure what the book measures.

    Raises:
        ValueError: If ``number`` is less than 1.
    """
    check_sizes(number=number)
    rng = random.Random(f"{seed}, {clauses} clauses")
    return [sample_pair(clauses, rng) for _ in range(number)]


def reverse_source(pair: Pair) -> Pair:
    """Reverse the source words, as Sutskever et al. (2014, section 3.3) did."""
    last = len(pair.source) - 1
    alignment = tuple(None if j is None else last - j for j in pair.alignment)
    return Pair(pair.source[::-1], pair.target, alignment)


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
