"""Exercises of appendix A2."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise


def _vectors() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 8, generator=g) + 1
    sizes = (1, 100, 1e-4)  # the last shows where ε stands
    cases = [(size * x, torch.rand(8, generator=g)) for size in sizes]
    return [*cases, ((300 * x).half(), torch.ones(8).half())]


@exercise(_vectors)
def exa2_rms_norm(x: Tensor, gain: Tensor) -> Tensor:
    """x.float(), square, mean over the last axis (keepdim=True), add ε, root, divide;
    at the end .to(x.dtype).

    x.float() => x
        In float16, the squares are infinite. In which type should they be computed?
    .to(x.dtype) =>
        The result has another type than x.
    = x.float() => = x.float() - x.float().mean(-1, keepdim=True)
        You subtract the mean, as LayerNorm does. RMSNorm leaves it.
    mean(-1, keepdim=True) + 1e-6 => sum(-1, keepdim=True)
        You divide by the length. The root is of the mean of the squares.
    mean(-1, keepdim=True) => mean()
        Each position has its own mean square: take the mean over the last axis.
    + 1e-6).sqrt() => ).sqrt() + 1e-6
        ε belongs under the root, next to the mean square.
    * gain =>
        The gain is missing.
    """
    wide = x.float()
    root = (wide.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    return (wide / root * gain).to(x.dtype)


@exercise(
    lambda: draw_inputs(
        *(((2, n, 5, 4), (2, 2, 3, 4), (2, 2, 3, 4)) for n in (4, 6, 2))
    )
)
def exa2_grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Give the queries an axis of groups, (B, G, H/G, T, d_k), and the keys and values
    an axis of size 1 in the same place. At the end join the first two.

    (k.shape[1], -1) => (-1, k.shape[1])
    k[:, :, None], v[:, :, None] => k[:, None], v[:, None]
        Your heads take turns: groups 1, 2, 1, 2. Heads 1 and 2 share group 1.
    / q.shape[-1] ** 0.5 =>
        The scores aren't divided by √d_k.
    """
    of_groups = q.unflatten(1, (k.shape[1], -1))  # (B, G, H/G, T, d_k)
    k, v = k[:, :, None], v[:, :, None]
    weights = (of_groups @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return (weights @ v).flatten(1, 2)


@exercise()
def exa2_active() -> tuple[int, int]:
    """An expert is a SwiGLU network: how many matrices has it?

    expert = 3 => expert = 2
        You count two matrices. SwiGLU has three.
    32 * 8 * expert, 32 * 2 => 8 * expert, 2
        That is one block. The model has 32.
    , 32 * 2 => , 2
        The second number is that of one block. A position passes through all 32.
    32 * 8 * expert, 32 * 2 => 32 * 2 * expert, 32 * 8
        The total comes first, then what one position uses.
    32 * 2 => 32
        Each position uses two experts of each block.
    """
    expert = 3 * 4096 * 14_336  # parameters
    return 32 * 8 * expert, 32 * 2 * expert
