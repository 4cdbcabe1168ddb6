"""Word alignment by IBM Model 1, learned from sentence pairs: Brown et al. 1993.

And how often the heads of a Transformer attend to the words that it aligns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.analysis.maps import attention_maps
from attnbook.core.checks import check_sizes, check_some
from attnbook.data.batching import IdPair, id_batch
from attnbook.models.transformer import Transformer

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


def align_words(pair: IdPair, table: TranslationTable) -> list[int | None]:
    """Align each target word with the position of its most probable source word.

    Returns:
        Positions from 0; None where :data:`NULL_WORD` is at least as probable, or there
        is no source word.
    """
    if not pair.source:
        return [None] * len(pair.target)
    alignment: list[int | None] = []
    for target in pair.target:
        scores = [table.get((s, target), 0.0) for s in pair.source]
        best = max(range(len(scores)), key=scores.__getitem__)
        aligned = scores[best] > table.get((NULL_WORD, target), 0.0)
        alignment.append(best if aligned else None)
    return alignment


class HeadAgreement(NamedTuple):
    """Fractions of the aligned target words whose largest weight is on their word."""

    heads: list[list[float]]  # of each cross-attention head, by layer
    mean: float  # of the mean over all heads
    diagonal: float  # of the same relative position of the source, whatever is there


def head_agreement(
    model: Transformer, pairs: Sequence[IdPair], table: TranslationTable
) -> HeadAgreement:
    """Count how often cross-attention has its largest weight where Model 1 aligns.

    Args:
        model: In eval mode.
        pairs: Sentences and translations, at least one of their words aligned.
        table: As estimated by :func:`train_ibm_model1`.

    Raises:
        ValueError: If no word is aligned.
    """
    hits: list[Tensor] = []
    averaged: list[Tensor] = []
    on_diagonal: list[Tensor] = []
    for pair in pairs:
        batch = id_batch([pair])
        maps = attention_maps(model, batch.src, batch.tgt_in)
        cross = torch.cat([w for n, w in maps.items() if n.endswith("cross_attention")])
        alignment = align_words(pair, table)
        rows = [i for i, j in enumerate(alignment) if j is not None]
        aligned = torch.tensor([alignment[i] for i in rows])
        hits.append(cross[:, :, rows].argmax(-1) == aligned)  # (L, H, n)
        averaged.append(cross.mean((0, 1))[rows].argmax(-1) == aligned)  # (n,)
        on_diagonal.append(torch.tensor(diagonal(pair))[rows] == aligned)
    check_some(range(sum(map(len, averaged))), "aligned word")
    by_head = torch.cat(hits, dim=-1).double().mean(-1)  # (L, H)
    means = (torch.cat(x).double().mean().item() for x in (averaged, on_diagonal))
    return HeadAgreement(by_head.tolist(), *means)


def diagonal(pair: IdPair) -> list[int]:
    """For each target position, the source position at the same relative position."""
    last, end = len(pair.source) - 1, max(len(pair.target) - 1, 1)
    return [round(i * last / end) for i in range(len(pair.target))]
