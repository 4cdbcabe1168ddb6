"""Rotary position embedding (RoPE): Su et al. 2024."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import _angles, check_even
from attnbook.nn.relative import first_query


def rotate(x: Tensor, offset: int = 0) -> Tensor:
    r"""Turn pair i of each vector by the angle :math:`p\,\omega_i` of its position p.

    Two vectors turned so have a dot product that depends on their distance, not on
    where they stand: Su et al. 2024 (RoPE), section 3, where numbers 2i and 2i + 1
    are a pair. Many libraries pair i and i + d/2, the same up to an order of numbers.

    Args:
        x: Queries or keys of each head, (..., T, d_k).
        offset: Position of the first.

    Returns:
        (..., T, d_k), each vector as long as before.

    Raises:
        ValueError: If d_k is odd, or the offset is negative.
    """
    t, d = x.shape[-2:]
    check_even(d)
    angles = _angles(t, d, offset, x.dtype, x.device)  # (T, d_k/2)
    sin, cos = angles.sin(), angles.cos()
    a, b = x.unflatten(-1, (-1, 2)).to(angles.dtype).unbind(-1)  # (..., T, d_k/2)
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], -1)
    return turned.flatten(-2).to(x.dtype)  # (..., T, d_k)


class RotaryAttention(MultiHeadAttention):
    """Self-attention whose queries and keys are rotated; values are not.

    With fewer queries than keys, the queries are the last places: those before them
    were decoded earlier. Arguments as
    :class:`~attnbook.nn.multi_head.MultiHeadAttention`.

    Raises:
        ValueError: If the width of a head is odd, or there are more queries than keys.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, dropout: float = 0.0
    ):
        super().__init__(d_model, n_heads, bias=bias, dropout=dropout)
        check_even(d_model // n_heads)

    def project(
        self, query: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make each head's q, k and v, the first two rotated."""
        q, k, v = super().project(query, key, value)
        first = first_query(q.shape[-2], k.shape[-2])
        return rotate(q, offset=first), rotate(k), v
