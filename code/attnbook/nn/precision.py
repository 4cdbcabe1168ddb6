"""Numbers of 16 bits are multiplied, summed and exponentiated in float32.

float16 ends at 65,504, which 64 products of 32 times 32 exceed, and bfloat16 has eight
binary digits. PyTorch's fused functions compute in float32 inside, and so do ours.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def wide(x: Tensor) -> Tensor:
    """Turn numbers of 16 bits into float32; other tensors are returned as they are."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def without_autocast(x: Tensor) -> AbstractContextManager:
    """Keep autocast from narrowing products on the device of ``x`` again."""
    kind = x.device.type
    if torch.amp.is_autocast_available(kind):
        return torch.autocast(kind, enabled=False)
    return nullcontext()


def dot_products(q: Tensor, k: Tensor) -> Tensor:
    """Dot products of all rows, in at least float32: (..., T, d), (..., S, d)."""
    with without_autocast(q):
        return wide(q) @ wide(k).mT  # (..., T, S)
