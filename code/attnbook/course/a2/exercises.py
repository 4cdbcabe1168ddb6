"""Exercises of appendix A2."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import register, wrong
from attnbook.nn.norms import rms_norm


def _vectors() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 8, generator=g) + 1
    sizes = (1, 100, 1e-4)  # the last shows where ε stands
    return [(size * x, torch.rand(8, generator=g)) for size in sizes]


def _root_of_sum(x: Tensor, gain: Tensor) -> Tensor:
    return x / x.square().sum(-1, keepdim=True).sqrt() * gain


def _over_everything(x: Tensor, gain: Tensor) -> Tensor:
    return x / (x.square().mean() + 1e-6).sqrt() * gain


def _outside(x: Tensor, gain: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-6) * gain


def _centred(x: Tensor, gain: Tensor) -> Tensor:
    return rms_norm(x - x.mean(-1, keepdim=True), gain)


register(
    "exa2_rms_norm",
    reference=rms_norm,
    inputs=_vectors,
    hint="Square, mean over the last axis (keepdim=True), add ε, root, divide.",
    mistakes=wrong(
        _centred,
        "You subtract the mean, as LayerNorm does. RMSNorm leaves it.",
        _root_of_sum,
        "You divide by the length. The root is of the mean of the squares.",
        _over_everything,
        "Each position has its own mean square: take the mean over the last axis.",
        _outside,
        "ε belongs under the root, next to the mean square.",
        lambda x, gain: rms_norm(x, torch.ones(8)),
        "The gain is missing.",
    ),
)


def _share_keys(keys: Tensor, n_heads: int) -> Tensor:
    return keys.repeat_interleave(n_heads // keys.shape[1], dim=1)


def _keys() -> list[tuple[Tensor, int]]:
    g = torch.Generator().manual_seed(1)
    return [(torch.randn(2, 2, 3, 4, generator=g), n) for n in (4, 6, 2)]


def _without_dim(keys: Tensor, n_heads: int) -> Tensor:
    return keys.repeat_interleave(n_heads // keys.shape[1], dim=2)


register(
    "exa2_share_keys",
    reference=_share_keys,
    inputs=_keys,
    hint="With H = 4 and G = 2 the heads' keys are those of groups 1, 1, 2, 2.",
    mistakes=wrong(
        lambda keys, n_heads: keys.repeat(1, n_heads // keys.shape[1], 1, 1),
        "The order is that of groups 1, 2, 1, 2: heads 1 and 2 share group 1.",
        _without_dim,
        "You repeat positions. The axis of the groups is the second.",
    ),
)

EXPERT = 3 * 4096 * 14_336  # three matrices
"""Parameters of one expert in the exercise."""

register(
    "exa2_active",
    reference=(32 * 8 * EXPERT, 32 * 2 * EXPERT),
    hint="An expert is a SwiGLU network: how many matrices has it?",
    mistakes=wrong(
        (32 * 8 * EXPERT * 2 // 3, 32 * 2 * EXPERT * 2 // 3),
        "You count two matrices. SwiGLU has three.",
        (8 * EXPERT, 2 * EXPERT),
        "That is one block. The model has 32.",
        (32 * 8 * EXPERT, 2 * EXPERT),
        "The second number is that of one block. A position passes through all 32.",
        (32 * 2 * EXPERT, 32 * 8 * EXPERT),
        "The total comes first, then what one position uses.",
        (32 * 8 * EXPERT, 32 * EXPERT),
        "Each position uses two experts of each block.",
    ),
)
