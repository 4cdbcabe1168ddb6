"""Exercises of chapter 7."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise
from attnbook.nn.positions import position_angles


@exercise()
def ex7_who_notices() -> str:
    """Ask of each: does anything in it depend on the position?

    bdf => abdf
        A mean is the same in any order.
    bdf => bcdf
        The same Linear at each position cannot depend on the position.
    bdf => bf
        The mask hides later words, and which words are later changes.
    bdf => bdef
        A kernel of width 1 sees one word, and is the same at each position.
    bdf => b
        A kernel of width 3 and a causal mask treat left and right differently, too.
    """
    return "bdf"


@exercise(lambda: draw_inputs(((1, 4),), ((5, 8),), ((2, 3, 6, 4),)))
def ex7_half_split(x: Tensor) -> Tensor:
    """Take the first and the second half of the components as a and b, rotate as in the
    chapter, and put the two halves back one after the other.

    x.chunk(2, dim=-1) => x.unflatten(-1, (-1, 2)).unbind(-1)
    torch.cat([first, second], dim=-1) => torch.stack([first, second], -1).flatten(-2)
        These pairs are neighbours, 2i and 2i + 1; pair i with i + d_k/2.
    torch.cat([first, second], dim=-1) => torch.stack([first, second], -1).flatten(-2)
        The pairs are right, but the results are interleaved; they belong in halves.
    = position_angles => = -position_angles
        The rotation goes clockwise: one of the two sines has the wrong sign.
    *x.shape[-2:], 0 => *x.shape[-2:], 1
        Positions are counted from 0, so the first vector isn't rotated at all.
    torch.cat([first, second], dim=-1) => x
        Nothing is rotated yet.
    """
    angles = position_angles(*x.shape[-2:], 0, x.dtype)  # (T, d/2)
    a, b = x.chunk(2, dim=-1)  # (…, T, d/2) each
    first = a * angles.cos() - b * angles.sin()
    second = a * angles.sin() + b * angles.cos()
    return torch.cat([first, second], dim=-1)  # (…, T, d)
