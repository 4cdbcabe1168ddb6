"""How good is a translation of the toy language?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.decoding.greedy_search import greedy
from attnbook.nn.masks import padding_mask
from attnbook.toy.data import TARGET, make_batch
from attnbook.toy.language import Pair


def greedy_translations(
    model: nn.Module, pairs: Sequence[Pair]
) -> list[tuple[str, ...]]:
    """Translate the sources of ``pairs`` greedily.

    An output may grow one word longer than the right one before it is cut off: too long
    is wrong, however much longer it would have become.
    """
    batch = make_batch(pairs)
    ids = greedy(model, batch.src, max_len=batch.tgt_out.shape[1] + 1)
    return [tuple(TARGET.decode(row)) for row in ids.tolist()]


def exact_match(model: nn.Module, pairs: Sequence[Pair]) -> float:
    """Share of sentences translated without any mistake, from 0 to 1."""
    said = greedy_translations(model, pairs)
    return sum(s == p.target for s, p in zip(said, pairs, strict=True)) / len(pairs)


@torch.no_grad()
def correct_tokens(model: nn.Module, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """Which target tokens are the most probable, given the right words before them?

    Args:
        model: Called as ``model(src, tgt_in)``.
        pairs: B pairs.

    Returns:
        (B, T) bool, True where the model is right; (B, T) bool, True at real tokens.
    """
    batch = make_batch(pairs)
    said = model(batch.src, batch.tgt_in).argmax(-1)  # (B, T)
    real = padding_mask(batch.tgt_out)
    return (said == batch.tgt_out) & real, real


@torch.no_grad()
def attention_weights(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """Where does the model look, given the right words before each step?

    Args:
        model: Called as ``model(src, tgt_in, need_weights=True)``.
        pairs: B pairs.

    Returns:
        Weights, (B, T, S); the last real row and column of each sentence are EOS.
    """
    batch = make_batch(pairs)
    _, weights = model(batch.src, batch.tgt_in, need_weights=True)
    return weights


def alignment_score(weights: Tensor, pairs: Sequence[Pair]) -> float:
    """Share of target words whose largest weight lies on the word they render.

    EOS and the connective, which renders no word of a clause, are not counted.

    Args:
        weights: (B, T, S), as :func:`attention_weights` returns them.
        pairs: The B pairs they belong to.

    Returns:
        From 0 to 1.

    Raises:
        ValueError: If there are not as many rows of weights as pairs.
    """
    if len(weights) != len(pairs):
        raise ValueError(
            f"weights of {len(weights)} sentences for {len(pairs)} pairs; "
            "give those of the same sentences"
        )
    hits = [
        looked_at == wanted
        for row, pair in zip(weights.argmax(-1).tolist(), pairs, strict=True)
        for looked_at, wanted in zip(row, pair.alignment, strict=False)
        if wanted is not None
    ]
    return sum(hits) / len(hits)
