"""Sentences of one clause with two valid translations: either phrase may come first.

The rule of the toy language puts the subject's phrase first. Here the object's phrase
may come first as well, as in languages with free word order::

    the old farmer sees a bird
    maron velin ken  lipas dos  mirat      subject first
    lipas dos  maron velin ken  mirat      object first
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from attnbook.toy.language import Pair, sample_pair


def object_first(pair: Pair) -> Pair:
    """Exchange the two phrases of a translation, and its alignment with them.

    Args:
        pair: Of one clause, subject first.

    Raises:
        ValueError: If it has more than one clause.
    """
    if pair.clauses != 1:
        raise ValueError(f"the sentence has {pair.clauses} clauses; give one of one")
    verb = pair.alignment[-1]  # its position in the source: the subject ends before it
    target, alignment = (
        x[verb:-1] + x[:verb] + x[-1:] for x in (pair.target, pair.alignment)
    )
    return Pair(pair.source, target, alignment)


def valid_translations(pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both orders of the target of a pair of one clause, subject first."""
    return pair.target, object_first(pair).target


def two_order_pairs(seed: int) -> Iterator[Pair]:
    """Sample sentences of one clause, each with either of its two translations.

    Args:
        seed: The same seed gives the same pairs.
    """
    rng = random.Random(seed)
    while True:
        pair = sample_pair(1, rng)
        yield object_first(pair) if rng.random() < 0.5 else pair
