"""Exercises of appendix A2."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import register, wrong
from attnbook.nn.norms import rms_norm


def _vectors() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 8, generator=g) + 1
    sizes = (1, 100, 1e-4)  # the last shows where ε stands
    cases = [(size * x, torch.rand(8, generator=g)) for size in sizes]
    return [*cases, ((300 * x).half(), torch.ones(8).half())]


def _root_of_sum(x: Tensor, gain: Tensor) -> Tensor:
    wide = x.float()
    return (wide / wide.square().sum(-1, keepdim=True).sqrt() * gain).to(x.dtype)


def _over_everything(x: Tensor, gain: Tensor) -> Tensor:
    wide = x.float()
    return (wide / (wide.square().mean() + 1e-6).sqrt() * gain).to(x.dtype)


def _outside(x: Tensor, gain: Tensor) -> Tensor:
    wide = x.float()
    root = wide.square().mean(-1, keepdim=True).sqrt()
    return (wide / (root + 1e-6) * gain).to(x.dtype)


def _centred(x: Tensor, gain: Tensor) -> Tensor:
    wide = x.float()
    return rms_norm(wide - wide.mean(-1, keepdim=True), gain).to(x.dtype)


def _in_its_own_type(x: Tensor, gain: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gain


register(
    "exa2_rms_norm",
    reference=rms_norm,
    inputs=_vectors,
    hint="x.float(), square, mean over the last axis (keepdim=True), add ε, root, "
    "divide; at the end .to(x.dtype).",
    mistakes=wrong(
        _in_its_own_type,
        "In float16, the squares are infinite. In which type should they be computed?",
        lambda x, gain: _in_its_own_type(x.float(), gain),
        "The result has another type than x.",
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


def _attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention without checks, so that axes may be broadcast."""
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


def _grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    of_groups = q.unflatten(1, (k.shape[1], -1))  # (B, G, H/G, T, d_k)
    return _attend(of_groups, k[:, :, None], v[:, :, None]).flatten(1, 2)


def _queries_keys_values() -> list[tuple[Tensor, Tensor, Tensor]]:
    g = torch.Generator().manual_seed(1)
    keys = torch.randn(
        3, 2, 2, 2, 3, 4, generator=g
    )  # for three cases, keys and values
    return [
        (torch.randn(2, n, 5, 4, generator=g), *k_v)
        for n, k_v in zip((4, 6, 2), keys, strict=True)
    ]


def _other_order(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    of_ranks = q.unflatten(1, (-1, k.shape[1]))  # (B, H/G, G, T, d_k)
    return _attend(of_ranks, k[:, None], v[:, None]).flatten(1, 2)


def _not_scaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return _grouped(q * q.shape[-1] ** 0.5, k, v)


register(
    "exa2_grouped",
    reference=_grouped,
    inputs=_queries_keys_values,
    hint="Give the queries an axis of groups, (B, G, H/G, T, d_k), and the keys and "
    "values an axis of size 1 in the same place. At the end join the first two.",
    mistakes=wrong(
        _other_order,
        "Your heads take turns: groups 1, 2, 1, 2. Heads 1 and 2 share group 1.",
        _not_scaled,
        "The scores aren't divided by √d_k.",
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
