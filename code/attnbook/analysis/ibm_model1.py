"""Word alignment by IBM Model 1, learned from sentence pairs: Brown et al. 1993."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from attnbook.core.checks import check_sizes
from attnbook.data.batching import IdPair

NULL_WORD = -1
"""Added to every source sentence, for target words that render none of its words."""

TranslationTable = dict[tuple[int, int], float]


def train_ibm_model1(pairs: Sequence[IdPair], iterations: int = 5) -> TranslationTable:
    """Estimate t(target word | source word) by expectation maximisation.

    Every target word is rendered by one word of its source sentence; initially all are
    equally likely. Each iteration distributes every target word over the source words
    in proportion to the table, and re-estimates the table from these expected counts.

    Args:
        pairs: Sentences and translations.
        iterations: Number of iterations.

    Returns:
        The probabilities, by (source word, target word).

    Raises:
        ValueError: If ``iterations`` is less than 1.
    """
    check_sizes(iterations=iterations)
    table: TranslationTable = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        pair_counts: TranslationTable = defaultdict(float)
        source_counts: dict[int, float] = defaultdict(float)
        for pair in pairs:
            source = [NULL_WORD, *pair.source]
            for target in pair.target:
                shares = [table[s, target] for s in source]
                total = sum(shares)
                for s, share in zip(source, shares, strict=True):
                    pair_counts[s, target] += share / total
                    source_counts[s] += share / total
        table = {(s, t): x / source_counts[s] for (s, t), x in pair_counts.items()}
    return table


def diagonal(pair: IdPair) -> list[int]:
    """For each target position, the source position at the same relative position."""
    last, end = len(pair.source) - 1, max(len(pair.target) - 1, 1)
    return [round(i * last / end) for i in range(len(pair.target))]
