"""Relative position bias: a learned number for each distance and head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import check_offset, first_query


def relative_distances(
    t: int,
    s: int,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    """Signed distance from query i to key j, j - i - offset: (T, S).

    Args:
        t: Number T of queries.
        s: Number S of keys, from position 0 on.
        offset: Position of the first query.
        device: Device of the result.

    Returns:
        (T, S), int64; negative where the key comes before the query.

    Raises:
        ValueError: If the offset is negative.
    """
    check_offset(offset)
    keys = torch.arange(s, device=device)
    return keys - torch.arange(offset, offset + t, device=device)[:, None]


class RelativeBias(nn.Module):
    """A learned bias on the attention scores, one number per distance and head.

    Distances beyond ``max_distance`` are clipped to it, as in Shaw et al. 2018, section
    3.2. They learn a vector for each distance; a single number is the form of T5.

    Args:
        n_heads: Number H of heads.
        max_distance: The largest distance, in either direction, that has its own bias.
    """

    def __init__(self, n_heads: int, max_distance: int):
        super().__init__()
        check_sizes(n_heads=n_heads, max_distance=max_distance)
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(n_heads, 2 * max_distance + 1))

    def forward(self, t: int, s: int, offset: int = 0) -> Tensor:
        """The bias of T queries, from position ``offset`` on, and S keys: (H, T, S)."""
        d = relative_distances(t, s, offset, self.table.device)  # (T, S)
        d = d.clamp(-self.max_distance, self.max_distance)
        return self.table[:, d + self.max_distance]  # (H, T, S)


class RelativeAttention(MultiHeadAttention):
    """Self-attention with a :class:`RelativeBias`.

    If there are fewer queries than keys, the queries are the last positions: those
    before them were decoded earlier.

    Args:
        d_model: Width D.
        n_heads: Number H of heads.
        max_distance: The largest distance that has its own bias.
        how: Other arguments of :class:`~attnbook.nn.multi_head.MultiHeadAttention`.

    Raises:
        ValueError: If there are more queries than keys.
    """

    def __init__(self, d_model: int, n_heads: int, *, max_distance: int, **how):
        super().__init__(d_model, n_heads, **how)
        self.relative = RelativeBias(n_heads, max_distance)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        *,
        score_bias: Tensor | None = None,
        **how,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let each head attend, with the bias of its distances added to the scores."""
        t, s = q.shape[2], k.shape[2]
        bias = self.relative(t, s, offset=first_query(t, s))[None]  # (1, H, T, S)
        if score_bias is not None:
            bias = bias + score_bias
        return super().attend(q, k, v, mask, score_bias=bias, **how)
