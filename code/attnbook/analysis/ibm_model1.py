"""Which word renders which, from pairs of sentences alone: Brown et al. 1993."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from attnbook.core.checks import check_sizes
from attnbook.data.batching import IdPair

NOTHING = -1
"""Stands beside every source sentence, for target words that render none of it."""

Table = dict[tuple[int, int], float]


def learn_table(pairs: Sequence[IdPair], rounds: int = 5) -> Table:
    """Estimate t(target word | source word): Model 1, by expectation and maximisation.

    Every target word of a sentence is rendered by one of its source words, and at first
    all are as likely. Each round shares it out by the table, and counts the shares.

    Args:
        pairs: Sentences and translations.
        rounds: How often.

    Returns:
        The table, by (source word, target word).

    Raises:
        ValueError: If ``rounds`` is less than 1.
    """
    check_sizes(rounds=rounds)
    table: Table = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        together: Table = defaultdict(float)
        alone: dict[int, float] = defaultdict(float)
        for pair in pairs:
            source = [NOTHING, *pair.source]
            for target in pair.target:
                shares = [table[s, target] for s in source]
                total = sum(shares)
                for s, share in zip(source, shares, strict=True):
                    together[s, target] += share / total
                    alone[s] += share / total
        table = {(s, t): x / alone[s] for (s, t), x in together.items()}
    return table


def align(pair: IdPair, table: Table) -> list[int | None]:
    """Find for each target word the place of the source word that it renders best.

    Returns:
        Places from 0; None where :data:`NOTHING` is as good as any.
    """
    found: list[int | None] = []
    for target in pair.target:
        scores = [table.get((s, target), 0.0) for s in pair.source]
        best = max(range(len(scores)), key=scores.__getitem__)
        some = scores[best] > table.get((NOTHING, target), 0.0)
        found.append(best if some else None)
    return found
