r"""How does attention learn where a word stands? Four ways to tell it.

- :class:`Sinusoidal` and :class:`Learned` add a vector to each word (absolute);
- :class:`RelativeBias` adds a number to each score, by the distance of two words;
- :func:`rotate` turns queries and keys, so that scores depend on the distance alone.

``offset`` is the position of the first word given, counted from 0. Whoever decodes
word by word must pass it: without, every word would stand at position 0.
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
    r"""By what angle each pair of numbers turns from one position to the next.

    :math:`\omega_i = 10000^{-2i/d}` for pair i: Vaswani et al. 2017, section 3.5. The
    wavelength, in positions, is :math:`2\pi/\omega_i`.

    Args:
        d: Width; an odd one has a last pair of which half is missing.
        dtype: Of the result.
        device: Where to make it.

    Returns:
        (⌈d/2⌉,), in radians; falling from 1.
    """
    check_sizes(d=d)
    return BASE ** (-torch.arange(0, d, 2, dtype=dtype, device=device) / d)


def sinusoids(
    n: int,
    d: int,
    offset: int = 0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""The codes of n positions: :math:`\sin` and :math:`\cos` of :math:`p\,\omega_i`.

    Vaswani et al. 2017, section 3.5: numbers 2i and 2i + 1 are the sine and the cosine
    of one angle. The last number of an odd width is a sine alone.

    Args:
        n: Number of positions.
        d: Width.
        offset: The first position.
        dtype: Of the result; in between it is at least float32.
        device: Where to make it.

    Returns:
        (n, d), from -1 to 1.

    Raises:
        ValueError: If the offset is negative.
    """
    angles = _angles(n, d, offset, dtype, device)  # (n, ⌈d/2⌉)
    pairs = torch.stack([angles.sin(), angles.cos()], -1)  # (n, ⌈d/2⌉, 2)
    return pairs.flatten(1)[:, :d].to(dtype)  # (n, d)


def _angles(
    n: int,
    d: int,
    offset: int,
    dtype: torch.dtype,
    device: torch.device | str | None,
) -> Tensor:
    """The angle of pair i at position p, p · ω_i: (n, ⌈d/2⌉)."""
    check_offset(offset)
    # bfloat16 knows the whole numbers up to 256 only, float16 up to 2048.
    exact = torch.promote_types(dtype, torch.float32)
    positions = torch.arange(offset, offset + n, dtype=exact, device=device)
    return positions[:, None] * frequencies(d, exact, device)


def shift_matrix(k: int, d: int, dtype: torch.dtype = torch.float64) -> Tensor:
    r"""The matrix :math:`R_k` that turns each position's code into that of k later.

    :math:`PE(p + k) = R_k\, PE(p)` for every p. It turns pair i by :math:`k\,\omega_i`,
    by the addition theorems of sine and cosine.

    Args:
        k: The step; may be negative.
        d: Width; even, as a sine without its cosine cannot be turned.
        dtype: Of the result.

    Returns:
        (d, d), zero but for blocks of 2 × 2 along the diagonal.

    Raises:
        ValueError: If the width is odd.
    """
    check_even(d)
    angles = k * frequencies(d, dtype)
    sin, cos = angles.sin(), angles.cos()
    rows = torch.stack([cos, sin, -sin, cos], -1).view(-1, 2, 2)  # (d/2, 2, 2)
    return torch.block_diag(*rows)


class SinusoidalPositions(nn.Module):
    """Adds the sinusoids: nothing to learn, and no longest sentence.

    The codes are made anew for each call, where and in the type that ``x`` is.

    Args:
        d_model: Width D; may be odd.
    """

    def __init__(self, d_model: int):
        super().__init__()
        check_sizes(d_model=d_model)
        self.d_model = d_model

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to (B, T, D) the codes of positions offset … offset + T - 1."""
        check_width(x, self.d_model)
        return x + sinusoids(x.shape[1], self.d_model, offset, x.dtype, x.device)


class LearnedPositions(nn.Module):
    """Adds a vector of its own for each position, learned like a word's.

    Vaswani et al. 2017, section 3.5 and table 3 (E). It starts as large as sinusoids
    are, a root mean square of √½, so that a comparison is one of form.

    Args:
        longest: Number of positions that have a vector.
        d_model: Width D.
    """

    def __init__(self, longest: int, d_model: int):
        super().__init__()
        check_sizes(longest=longest, d_model=d_model)
        self.table = nn.Parameter(torch.empty(longest, d_model))
        nn.init.normal_(self.table, std=math.sqrt(0.5))

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to (B, T, D) the vectors of positions offset … offset + T - 1.

        Raises:
            ValueError: If one of them has no vector.
        """
        longest, d_model = self.table.shape
        check_width(x, d_model)
        end = offset + x.shape[1]
        if offset < 0 or end > longest:
            raise ValueError(
                f"positions {offset} … {end - 1} are asked for, but the table has "
                f"learned 0 … {longest - 1}; make it with a larger `longest`, shorten "
                "the sentence, or use sinusoids, which have no end"
            )
        return x + self.table[offset:end]


def check_even(d: int) -> None:
    """Raise a ValueError unless ``d`` can be cut into pairs."""
    if d < 2 or d % 2:
        raise ValueError(
            f"a width of {d} cannot be cut into pairs, each of which is turned; choose "
            "an even one, for each head"
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
