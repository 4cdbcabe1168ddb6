"""Which positions count. Throughout the course, True means: may be used."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.vocabulary import PAD


def padding_mask(ids: Tensor) -> Tensor:
    """Mark the real tokens of a padded batch.

    Args:
        ids: Token ids, (B, S).

    Returns:
        (B, S), bool; False at ``PAD``.
    """
    return ids != PAD


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Turn scores into weights, over the allowed places alone.

    Places that are not allowed get a weight of exactly 0 and no gradient, whatever
    their score. A row in which no place is allowed gets zeros throughout.

    Args:
        scores: (..., S).
        mask: bool, True where a place may be used; of a shape that broadcasts to that
            of ``scores``.

    Returns:
        Weights, (..., S): not negative, their sum 1, or 0 where nothing is allowed.

    Raises:
        ValueError: If the mask is not of type bool, or does not fit the scores.
    """
    check_mask(mask, scores.shape)
    # Not -inf: a row of nothing else would give 0/0. The lowest number is as good, as
    # exp(lowest - highest) is 0, and leaves an empty row finite until it is zeroed.
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(-1)
    return weights.masked_fill(~mask, 0.0)


def check_mask(mask: Tensor, shape: torch.Size) -> None:
    """Raise a ValueError unless ``mask`` is bool and broadcasts to ``shape``."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"the mask is of type {mask.dtype}; it must be torch.bool, True where a "
            "place may be used: mask.bool() turns ones into True"
        )
    pairs = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.dim() > len(shape) or any(m not in (1, s) for m, s in pairs):
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)}, the scores {tuple(shape)}; each "
            "axis, counted from the last, must agree or be 1: mask[:, None] adds one"
        )
