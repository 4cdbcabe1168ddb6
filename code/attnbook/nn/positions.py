r"""Absolute positional encodings, sinusoidal and learned.

Attention alone does not depend on the order of the tokens. The modules of this file add
a vector to each token embedding that depends on its position. For encodings that depend
on the distance of two tokens see :mod:`~attnbook.nn.relative` and
:mod:`~attnbook.nn.rotary`.

``offset`` is the position of the first token given, counted from 0. A decoder that
generates token by token must pass it; otherwise every token would be at position 0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes

BASE = 10_000.0


def frequencies(
    d: int, dtype: torch.dtype = torch.float32, device: torch.device | str | None = None
) -> Tensor:
    r"""Angular frequency of each pair of features: :math:`\omega_i = 10000^{-2i/d}`.

    Vaswani et al. 2017, section 3.5. The wavelength of pair i is
    :math:`2\pi/\omega_i` positions.

    Args:
        d: Width; if it is odd, the last pair lacks its second feature.
        dtype: Type of the result.
        device: Device of the result.

    Returns:
        (⌈d/2⌉,), in radians per position, decreasing from 1.
    """
    check_sizes(d=d)
    exact = torch.promote_types(dtype, torch.float32)
    powers = -torch.arange(0, d, 2, dtype=exact, device=device) / d
    return (BASE**powers).to(dtype)


def position_angles(
    n: int,
    d: int,
    offset: int = 0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""The angle :math:`p\,\omega_i` of feature pair i at position p.

    Args:
        n: Number of positions.
        d: Width.
        offset: The first position.
        dtype: Type of the vectors to encode; the angles are at least float32.
        device: Device of the result.

    Returns:
        (n, ⌈d/2⌉), in radians.

    Raises:
        ValueError: If the offset is negative.
    """
    check_offset(offset)
    # bfloat16 represents whole numbers exactly only up to 256, float16 up to 2048.
    exact = torch.promote_types(dtype, torch.float32)
    positions = torch.arange(offset, offset + n, dtype=exact, device=device)
    return positions[:, None] * frequencies(d, exact, device)  # (n, ⌈d/2⌉)


def sinusoids(
    n: int,
    d: int,
    offset: int = 0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Sinusoidal encodings of n positions: Vaswani et al. 2017, section 3.5.

    Features 2i and 2i + 1 are :math:`\sin(p\,\omega_i)` and :math:`\cos(p\,\omega_i)`.
    If the width is odd, the last feature is a sine alone.

    Args:
        n: Number of positions.
        d: Width.
        offset: The first position.
        dtype: Type of the result; it is computed in at least float32.
        device: Device of the result.

    Returns:
        (n, d), from -1 to 1.

    Raises:
        ValueError: If the offset is negative.

    Examples:
        >>> sinusoids(50, 4).shape
        torch.Size([50, 4])
        >>> sinusoids(50, 4)[0]  # sines and cosines of 0
        tensor([0., 1., 0., 1.])
    """
    angles = position_angles(n, d, offset, dtype, device)  # (n, ⌈d/2⌉)
    pairs = torch.stack([angles.sin(), angles.cos()], -1)  # (n, ⌈d/2⌉, 2)
    return pairs.flatten(1)[:, :d].to(dtype)  # (n, d)


def shift_matrix(k: int, d: int, dtype: torch.dtype = torch.float64) -> Tensor:
    r"""The matrix that maps each position's encoding to that of k later.

    :math:`PE(p + k) = R_k^\top PE(p)` for every p, by the addition theorems of sine and
    cosine. :math:`R_k` rotates the point (cosine, sine) of pair i by
    :math:`k\,\omega_i`, as in RoPE; an encoding holds the sine first, so each block is
    transposed.

    Args:
        k: The shift in positions; may be negative.
        d: Width; even, since a sine without its cosine cannot be rotated.
        dtype: Type of the result.

    Returns:
        (d, d), zero but for blocks of 2 × 2 along the diagonal.

    Raises:
        ValueError: If the width is odd.
    """
    check_even(d)
    angles = k * frequencies(d, torch.promote_types(dtype, torch.float32))
    sin, cos = angles.sin(), angles.cos()
    rows = torch.stack([cos, sin, -sin, cos], -1).view(-1, 2, 2)  # (d/2, 2, 2)
    return torch.block_diag(*rows).to(dtype)


class SinusoidalPositions(nn.Module):
    """Adds sinusoidal encodings; nothing is learned, and any length is allowed.

    The encodings are computed in each call, on the device and in the type of ``x``.

    Args:
        d_model: Width D; may be odd.
    """

    def __init__(self, d_model: int):
        super().__init__()
        check_sizes(d_model=d_model)
        self.d_model = d_model

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to (B, T, D) the encodings of positions offset … offset + T - 1."""
        check_width(x, self.d_model)
        return x + sinusoids(x.shape[1], self.d_model, offset, x.dtype, x.device)


class NoPositions(nn.Module):
    """Stands where positions are added, and adds nothing."""

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Return (B, T, D) as it came."""
        return x


class LearnedPositions(nn.Module):
    """Adds a learned vector for each position: learned positional embeddings.

    Vaswani et al. 2017, section 3.5 and table 3 (E). At initialisation the root mean
    square is √½, that of sinusoids, so that the two can be compared.

    Args:
        max_len: Number of positions that have a vector.
        d_model: Width D.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_sizes(max_len=max_len, d_model=d_model)
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.table, std=math.sqrt(0.5))

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to (B, T, D) the vectors of positions offset … offset + T - 1.

        Raises:
            ValueError: If one of these positions has no vector.
        """
        max_len, d_model = self.table.shape
        check_width(x, d_model)
        end = offset + x.shape[1]
        if offset < 0 or end > max_len:
            raise ValueError(
                f"positions {offset} … {end - 1} are needed, but the table has rows "
                f"0 … {max_len - 1}; make it with a larger `max_len`, shorten the "
                "sentence, or use sinusoids, which allow any length"
            )
        return x + self.table[offset:end]


def first_query(t: int, s: int) -> int:
    """Position of the first query, if T queries are the last of S positions.

    Raises:
        ValueError: If there are more queries than keys.
    """
    if t > s:
        raise ValueError(
            f"{t} queries for {s} keys: the queries must be the last positions of the "
            "keys' sentence; to attend to another sentence, use a plain "
            "MultiHeadAttention"
        )
    return s - t


def check_even(d: int) -> None:
    """Raise a ValueError unless ``d`` features can be split into pairs."""
    if d < 2 or d % 2:
        raise ValueError(
            f"a width of {d} cannot be split into pairs to rotate; choose an even one, "
            "for each head"
        )


def check_offset(offset: int) -> None:
    """Raise a ValueError if the first position is negative."""
    if offset < 0:
        raise ValueError(f"offset is {offset}; positions are counted from 0 on")


def check_width(x: Tensor, d_model: int) -> None:
    """Raise a ValueError unless ``x`` is (B, T, d_model)."""
    if x.dim() != 3 or x.shape[-1] != d_model:
        raise ValueError(
            f"x has shape {tuple(x.shape)}; it must be (B, T, {d_model}), batch first"
        )
