"""Metrics of translations of the toy language."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_some
from attnbook.core.devices import model_device
from attnbook.decoding.greedy_search import greedy
from attnbook.nn.masks import padding_mask
from attnbook.toy.data import TARGET, make_batch
from attnbook.toy.language import Pair


def greedy_translations(
    model: nn.Module, pairs: Sequence[Pair]
) -> list[tuple[str, ...]]:
    """Translate the sources of ``pairs`` by greedy decoding.

    The maximum length is one token more than a sentence's own reference needs. An
    output that is cut off there is wrong, however much longer it would have become.
    """
    batch = make_batch(pairs, model_device(model))
    limits = padding_mask(batch.tgt_out).sum(1) + 1  # (B,)
    ids = greedy(model, batch.src, limits)
    return [tuple(TARGET.decode(row)) for row in ids.tolist()]


def exact_match(model: nn.Module, pairs: Sequence[Pair]) -> float:
    """Fraction of sentences translated exactly, from 0 to 1."""
    outputs = greedy_translations(model, pairs)
    matches = [o == p.target for o, p in zip(outputs, pairs, strict=True)]
    return sum(matches) / len(pairs)


@torch.no_grad()
def correct_tokens(model: nn.Module, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """Which target tokens are predicted correctly under teacher forcing?

    Args:
        model: Called as ``model(src, tgt_in)``.
        pairs: B pairs.

    Returns:
        (B, T) bool, True where the most probable token is the target; (B, T) bool, True
        at real tokens.
    """
    batch = make_batch(pairs, model_device(model))
    predicted = model(batch.src, batch.tgt_in).argmax(-1)  # (B, T)
    real = padding_mask(batch.tgt_out)
    return (predicted == batch.tgt_out) & real, real


@torch.no_grad()
def attention_weights(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """The attention weights of each step under teacher forcing.

    Args:
        model: Called as ``model(src, tgt_in, need_weights=True)``.
        pairs: B pairs.

    Returns:
        Weights, (B, T, S); the last real row and column of each sentence are EOS.
    """
    batch = make_batch(pairs, model_device(model))
    _, weights = model(batch.src, batch.tgt_in, need_weights=True)
    return weights


def alignment_accuracy(weights: Tensor, pairs: Sequence[Pair]) -> float:
    """Fraction of target words whose largest weight is on the source word they render.

    EOS, and the connective, which renders no word of a clause, are not counted.

    Args:
        weights: (B, T, S), as :func:`attention_weights` returns them.
        pairs: The B pairs they belong to.

    Raises:
        ValueError: If the number of sentences differs, or no word renders one.
    """
    if len(weights) != len(pairs):
        raise ValueError(
            f"weights of {len(weights)} sentences for {len(pairs)} pairs; "
            "give those of the same sentences"
        )
    hits = [
        most_attended == aligned
        for row, pair in zip(weights.argmax(-1).tolist(), pairs, strict=True)
        for most_attended, aligned in zip(row, pair.alignment, strict=False)
        if aligned is not None
    ]
    check_some(hits, "word that renders a source word")
    return sum(hits) / len(hits)
