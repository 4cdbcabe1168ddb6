"""Which positions count. Throughout the course, True means: may be used."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD


def padding_mask(ids: Tensor) -> Tensor:
    """Mark the real tokens of a padded batch.

    Args:
        ids: Token ids, (B, S).

    Returns:
        (B, S), bool; False at ``PAD``.
    """
    return ids != PAD


def key_mask(ids: Tensor) -> Tensor:
    """Let every query attend to every real token, and to no pad.

    For self-attention of an encoder and for cross-attention: only the keys count, so
    there is nothing about queries in it.

    Args:
        ids: Token ids of the keys, (B, S).

    Returns:
        (B, 1, 1, S), bool; broadcasts over heads and queries.

    Raises:
        ValueError: If the ids are not (B, S).
    """
    check_ids(ids)
    return padding_mask(ids)[:, None, None]


def causal_mask(
    t: int,
    s: int | None = None,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each place attend to itself and to those before it.

    Args:
        t: Number T of queries.
        s: Number S of keys, counted from position 0; as many as the last query may
            see if not given.
        offset: Position of the first query: the number of places that were decoded
            before.
        device: Where to make it; that of the ids or vectors.

    Returns:
        (T, S), bool; row i is True at the keys 0 … offset + i.

    Raises:
        ValueError: If there is no query or no key, or the offset is negative.
    """
    s = offset + t if s is None else s
    if t < 1 or s < 1 or offset < 0:
        raise ValueError(
            f"no causal mask of {t} queries from position {offset} on and {s} keys; "
            "queries and keys are counted from 1 on, positions from 0 on"
        )
    queries = torch.arange(offset, offset + t, device=device)
    keys = torch.arange(s, device=device)
    return keys <= queries[:, None]  # (T, S)


def target_mask(ids: Tensor) -> Tensor:
    """Join both masks of a decoder's self-attention: no later place and no pad.

    Args:
        ids: Token ids, (B, T); they are queries and keys.

    Returns:
        (B, 1, T, T), bool; broadcasts over heads.

    Raises:
        ValueError: If the ids are not (B, T).
    """
    return key_mask(ids) & causal_mask(ids.shape[1], device=ids.device)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Turn scores into weights, over the allowed places alone.

    Places that are not allowed get a weight of exactly 0 and no gradient, whatever
    their score. A row in which no place is allowed gets zeros throughout.

    Args:
        scores: (..., S), finite where the mask is True.
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


def check_ids(ids: Tensor) -> None:
    """Raise a ValueError unless ``ids`` are those of a batch, (B, S)."""
    if ids.dim() != 2:
        raise ValueError(
            f"ids have shape {tuple(ids.shape)}; they must be (B, S): ids[None] makes "
            "one sentence a batch"
        )


def check_mask(mask: Tensor, shape: torch.Size) -> None:
    """Raise a ValueError unless ``mask`` is bool and broadcasts to ``shape``."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"the mask is of type {mask.dtype}; it must be torch.bool, True where a "
            "place may be used: mask.bool() turns ones into True"
        )
    if not broadcasts(mask.shape, shape):
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)}, the scores {tuple(shape)}; each "
            "axis, counted from the last, must agree or be 1; a mask of pads, (B, S), "
            "fits as mask[:, None, None], which key_mask(ids) makes"
        )


def broadcasts(small: torch.Size, shape: torch.Size) -> bool:
    """Whether a tensor of one shape is broadcast to the other, without making it grow.

    Axes are counted from the last: each must agree or be 1.
    """
    pairs = zip(reversed(small), reversed(shape), strict=False)
    return len(small) <= len(shape) and all(m in (1, s) for m, s in pairs)
