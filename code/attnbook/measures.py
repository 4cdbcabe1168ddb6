"""How good is a translation of the toy language?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.batches import TARGET, make_batch
from attnbook.decoding import greedy
from attnbook.masks import padding_mask
from attnbook.toy_language import Pair


def translations(model: nn.Module, pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
    """Translate the sources of ``pairs`` greedily.

    An output may grow one word longer than the right one before it is cut off: too long
    is wrong, however much longer it would have become.
    """
    batch = make_batch(pairs)
    ids = greedy(model, batch.src, max_len=batch.tgt_out.shape[1] + 1)
    return [tuple(TARGET.decode(row)) for row in ids.tolist()]


def exact_match(model: nn.Module, pairs: Sequence[Pair]) -> float:
    """Share of sentences translated without any mistake, from 0 to 1."""
    said = translations(model, pairs)
    return sum(s == p.target for s, p in zip(said, pairs, strict=True)) / len(pairs)


@torch.no_grad()
def right_tokens(model: nn.Module, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
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
