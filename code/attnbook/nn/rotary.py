"""Rotary position embedding (RoPE): Su et al. 2024."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import check_even, position_angles
from attnbook.nn.relative import first_query


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

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **how
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Rotate queries and keys, and let each head attend.

        Keys are kept from step to step without their rotation, which takes little time.
        """
        first = first_query(q.shape[2], k.shape[2])
        return super().attend(rotate(q, offset=first), rotate(k), v, mask, **how)
