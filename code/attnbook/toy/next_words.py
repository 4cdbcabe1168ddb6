"""Predicting the next word of English sentences: a decoder's task without a source."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from torch import Tensor

from attnbook.core.checks import check_some
from attnbook.core.vocabulary import BOS, EOS
from attnbook.data.batching import pad, pooled
from attnbook.toy.data import SOURCE, toy_pairs
from attnbook.toy.language import ADJECTIVES, AND, DETERMINERS, NOUNS, VERBS, Pair


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


def best_next_word_accuracy(pairs: Sequence[Pair]) -> float:
    """The accuracy of the best guess for the next word, from the words before it.

    It knows the grammar, and that the sentences are those of
    :func:`next_word_batches`: one clause or two, with equal probability.

    Args:
        pairs: Whose sources are to be predicted.

    Returns:
        The mean probability of the most probable word, over all positions, ``EOS``
        included.

    Raises:
        ValueError: If there is no pair, or a sentence has more than two clauses.
    """
    check_some(pairs, "pair")
    if longer := [pair for pair in pairs if pair.clauses > 2]:
        raise ValueError(
            f"a sentence has {longer[0].clauses} clauses; give sentences of one or two"
        )
    odds = [p for pair in pairs for p in _best_odds(pair.source)]
    return sum(odds) / len(odds)


def _best_odds(words: Sequence[str]) -> list[float]:
    """Probability of the most probable next word after 0, 1, … words of a sentence."""
    odds, nouns = [1 / len(DETERMINERS)], 0
    for word in words:
        nouns += word in NOUNS
        if word in DETERMINERS:  # "a" is not followed by "old", the others by all
            odds.append(1 / (len(ADJECTIVES) + (word != "a")))
        elif word == "an":  # nothing else begins with a vowel
            odds.append(1.0)
        elif word in ADJECTIVES:
            odds.append(1 / len(NOUNS))
        elif word in VERBS or word == AND:
            odds.append(1 / len(DETERMINERS))
        else:  # a noun: of the subject, or the last of a first or second clause
            odds.append((1 / len(VERBS), 1 / 2, 1 / len(VERBS), 1.0)[nouns - 1])
    return odds
