"""Rotary position embedding (RoPE): Su et al. 2024."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.nn.positions import check_even, first_query, position_angles


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
    """Rotates queries and keys by their positions: the ``turn`` of an attention.

    If there are fewer queries than keys, the queries are the last positions: those
    before them were decoded earlier.
    """

    def forward(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate queries, (..., T, d_k), and keys, (..., S, d_k).

        Raises:
            ValueError: If d_k is odd, or there are more queries than keys.
        """
        first = first_query(q.shape[-2], k.shape[-2])
        return rotate(q, offset=first), rotate(k)
