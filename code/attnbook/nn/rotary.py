"""Rotary position embedding (RoPE): Su et al. 2024."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.nn.attention_checks import check_axes, check_multi_head
from attnbook.nn.multi_head import MultiHeadAttention, merge_heads, split_heads
from attnbook.nn.positions import check_even, position_angles
from attnbook.nn.relative import first_query
from attnbook.nn.scaled_dot_product import attention


def rotate(x: Tensor, offset: int = 0) -> Tensor:
    r"""Rotate pair i of the features at position p by the angle :math:`p\,\omega_i`.

    The dot product of a rotated query and a rotated key depends on their distance, not
    on their absolute positions: Su et al. 2024 (RoPE), section 3, where features 2i and
    2i + 1 form a pair. Many libraries pair i with i + d/2, which is the same up to the
    order of the features.

    Args:
        x: Queries or keys of each head, (..., T, d_k).
        offset: Position of the first one.

    Returns:
        (..., T, d_k); the length of each vector is unchanged.

    Raises:
        ValueError: If d_k is odd, or the offset is negative.
    """
    t, d = x.shape[-2:]
    check_even(d)
    angles = position_angles(t, d, offset, x.dtype, x.device)  # (T, d_k/2)
    sin, cos = angles.sin(), angles.cos()
    a, b = x.unflatten(-1, (-1, 2)).to(angles.dtype).unbind(-1)  # (..., T, d_k/2)
    rotated = torch.stack([a * cos - b * sin, a * sin + b * cos], -1)
    return rotated.flatten(-2).to(x.dtype)  # (..., T, d_k)


class Rotary(nn.Module):
    """:func:`rotate` as a module, for queries and keys that begin at position 0."""

    def forward(self, x: Tensor) -> Tensor:
        """Rotate queries or keys, (..., T, d_k)."""
        return rotate(x)


class RotaryAttention(MultiHeadAttention):
    """Self-attention whose queries and keys are rotated; values are not.

    If there are fewer queries than keys, the queries are the last positions: those
    before them were decoded earlier. Arguments are those of
    :class:`~attnbook.nn.multi_head.MultiHeadAttention`.

    Raises:
        ValueError: If the width of a head is odd, or there are more queries than keys.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, dropout: float = 0.0
    ):
        super().__init__(d_model, n_heads, bias=bias, dropout=dropout)
        check_even(d_model // n_heads)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        score_bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Multi-head attention with queries and keys rotated."""
        check_multi_head(self.d_model, query, key, value)
        check_axes(mask=mask, score_bias=score_bias)
        first = first_query(query.shape[1], key.shape[1])
        q = rotate(split_heads(self.W_Q(query), self.n_heads), offset=first)
        k, v = self.keys_values(key, value)  # (B, H, S, d_k), twice
        out = attention(
            *(q, rotate(k), v, mask),
            scale=self.scale,
            score_bias=score_bias,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        heads, weights = out if need_weights else (out, None)  # (B, H, T, d_k or S)
        x = self.W_O(merge_heads(heads))  # (B, T, D)
        return (x, weights) if need_weights else x
