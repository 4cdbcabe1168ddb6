"""Which positions may be attended to. Throughout the course, True means: may attend."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.core.checks import check_ids
from attnbook.core.vocabulary import PAD
from attnbook.nn.attention_checks import check_lengths, check_mask
from attnbook.nn.precision import wide


def padding_mask(ids: Tensor) -> Tensor:
    """Mark the real tokens of a padded batch: (B, S) → (B, S), False at ``PAD``."""
    return ids != PAD


def key_mask(ids: Tensor) -> Tensor:
    """Let every query attend to every real token, and to no padding.

    For the encoder's self-attention and for cross-attention.

    Args:
        ids: Token ids of the keys, (B, S).

    Returns:
        (B, 1, 1, S), bool; broadcasts over heads and queries.

    Raises:
        ValueError: If the ids are not (B, S).

    Examples:
        >>> ids = torch.tensor([[5, 6, 7], [5, 6, 0]])  # 0 is padding
        >>> key_mask(ids).shape
        torch.Size([2, 1, 1, 3])
        >>> key_mask(ids)[1].int()
        tensor([[[1, 1, 0]]], dtype=torch.int32)
    """
    check_ids(ids=ids)
    return padding_mask(ids)[:, None, None]


def causal_mask(
    t: int,
    s: int | None = None,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each position attend to itself and to those before it.

    Args:
        t: Number T of queries.
        s: Number S of keys; as many as the last query may attend to if not given.
        offset: Position of the first query: the number of positions decoded before.
        device: That of the ids or vectors.

    Returns:
        (T, S), bool; row i is True at the keys 0 … offset + i.

    Raises:
        ValueError: If there is no query or no key, or the offset is negative.

    Examples:
        >>> causal_mask(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    s = offset + t if s is None else s
    check_lengths(t, s, offset)
    queries = torch.arange(offset, offset + t, device=device)
    keys = torch.arange(s, device=device)
    return keys <= queries[:, None]  # (T, S)


def target_mask(ids: Tensor) -> Tensor:
    """Join both masks of a decoder's self-attention: no later position, no padding.

    Args:
        ids: Token ids, (B, T); they are queries and keys.

    Returns:
        (B, 1, T, T), bool; broadcasts over heads.

    Examples:
        >>> target_mask(torch.tensor([[1, 6, 0]]))[0, 0].int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 0]], dtype=torch.int32)
    """
    return key_mask(ids) & causal_mask(ids.shape[1], device=ids.device)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Turn scores into weights over the allowed positions alone.

    Positions that are not allowed get a weight of exactly 0 and no gradient, whatever
    their score. A fully masked row gets zeros throughout.

    Args:
        scores: (..., S), finite where the mask is True.
        mask: bool, True where a query may attend; broadcasts to ``scores``.

    Returns:
        Weights, (..., S): their sum is 1, or 0 in a fully masked row.

    Raises:
        ValueError: If the mask is not of type bool, or does not fit the scores.

    Examples:
        >>> mask = torch.tensor([[True, True], [False, False]])
        >>> masked_softmax(torch.zeros(2, 2), mask)  # a row of False gets zeros
        tensor([[0.5000, 0.5000],
                [0.0000, 0.0000]])
    """
    check_mask(mask, scores.shape)
    # Not -inf: a fully masked row would give 0/0. The lowest number is as good, as
    # exp(lowest - highest) is 0, and leaves such a row finite until it is zeroed.
    exact = wide(scores)
    lowest = torch.finfo(exact.dtype).min
    weights = exact.masked_fill(~mask, lowest).softmax(-1)
    return weights.masked_fill(~mask, 0.0).to(scores.dtype)
