"""Exercises of chapter 7."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import register, wrong
from attnbook.nn.positions import position_angles
from attnbook.nn.rotary import rotate

register(
    "ex7_who_notices",
    reference="bdf",
    hint="Ask of each: does anything in it depend on the position?",
    mistakes=wrong(
        "abdf",
        "A mean is the same in any order.",
        "bcdf",
        "The same Linear at each position cannot depend on the position.",
        "bf",
        "The mask hides later words, and which words are later changes.",
        "bdef",
        "A kernel of width 1 sees one word, and is the same at each position.",
        "b",
        "A kernel of width 3 and a causal mask treat left and right differently, too.",
    ),
)


def _half_split(x: Tensor, *, sign: int = 1, offset: int = 0) -> Tensor:
    """Rotate component i with i + d/2, by ``sign`` times the usual angle."""
    angles = sign * position_angles(*x.shape[-2:], offset, x.dtype)  # (T, d/2)
    a, b = x.chunk(2, dim=-1)  # (…, T, d/2) each
    first = a * angles.cos() - b * angles.sin()
    second = a * angles.sin() + b * angles.cos()
    return torch.cat([first, second], dim=-1)  # (…, T, d)


def _interleaved_at_the_end(x: Tensor) -> Tensor:
    return torch.stack(_half_split(x).chunk(2, dim=-1), dim=-1).flatten(-2)


def _queries() -> list[tuple[Tensor]]:
    g = torch.Generator().manual_seed(0)
    shapes = (1, 4), (5, 8), (2, 3, 6, 4)
    return [(torch.randn(s, generator=g),) for s in shapes]


register(
    "ex7_half_split",
    reference=_half_split,
    inputs=_queries,
    hint="Take the first and the second half of the components as a and b, rotate as "
    "in the chapter, and put the two halves back one after the other.",
    mistakes=wrong(
        rotate,
        "These pairs are neighbours, 2i and 2i + 1; pair i with i + d_k/2.",
        _interleaved_at_the_end,
        "The pairs are right, but the results are interleaved; they belong in halves.",
        lambda x: _half_split(x, sign=-1),
        "The rotation goes clockwise: one of the two sines has the wrong sign.",
        lambda x: _half_split(x, offset=1),
        "Positions are counted from 0, so the first vector isn't rotated at all.",
        lambda x: x,
        "Nothing is rotated yet.",
    ),
)
