"""Relative positions: a learned number for each distance and head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.attention_checks import check_multi_head
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import check_offset


def relative_distances(
    t: int,
    s: int,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    """How far key j stands after query i, (T, S): j - i - offset; negative before.

    Raises:
        ValueError: If the offset is negative.
    """
    check_offset(offset)
    keys = torch.arange(s, device=device)
    return keys - torch.arange(offset, offset + t, device=device)[:, None]


class RelativeBias(nn.Module):
    """Adds to each score a learned number, one for each distance and head.

    Distances beyond ``farthest`` share its number, as Shaw et al. 2018 clip them
    (section 3.2); a number in place of their vectors is the form of the T5 model.

    Args:
        n_heads: Number H of heads.
        farthest: The largest distance, in either direction, with a number of its own.
    """

    def __init__(self, n_heads: int, farthest: int):
        super().__init__()
        check_sizes(n_heads=n_heads, farthest=farthest)
        self.farthest = farthest
        self.table = nn.Parameter(torch.zeros(n_heads, 2 * farthest + 1))

    def forward(self, t: int, s: int, offset: int = 0) -> Tensor:
        """Give the bias of T queries, from ``offset`` on, and S keys: (H, T, S)."""
        d = relative_distances(t, s, offset, self.table.device)  # (T, S)
        return self.table[:, d.clamp(-self.farthest, self.farthest) + self.farthest]


class RelativeAttention(MultiHeadAttention):
    """Self-attention with a :class:`RelativeBias`.

    With fewer queries than keys, the queries are the last places: those before them
    were decoded earlier. Other arguments as
    :class:`~attnbook.nn.multi_head.MultiHeadAttention`.

    Args:
        farthest: The largest distance with a number of its own.

    Raises:
        ValueError: If there are more queries than keys.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        farthest: int,
        bias: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__(d_model, n_heads, bias=bias, dropout=dropout)
        self.relative = RelativeBias(n_heads, farthest)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend as every multi-head attention, with the bias added to the scores."""
        check_multi_head(self.d_model, query, key, value)
        t, s = query.shape[1], key.shape[1]
        bias = self.relative(t, s, offset=first_query(t, s))[None]  # (1, H, T, S)
        return super().forward(
            query, key, value, mask, score_bias=bias, need_weights=need_weights
        )


def first_query(t: int, s: int) -> int:
    """The position of the first of T queries that are the last of S places."""
    if t > s:
        raise ValueError(
            f"{t} queries for {s} keys: the queries must be the last places of the "
            "keys' sentence; to attend to another sentence, use a plain "
            "MultiHeadAttention"
        )
    return s - t
