"""Pretends to be another processor: gradients are off by a millionth, as by rounding.

A kernel runs this before its first cell if ATTNBOOK_ROUNDING is set, whose number seeds
the noise. Training then takes the way that it would take on a machine with other
kernels for matrix products, and a page's stored outputs must hold all the same.
"""

import os

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

SIZE = 1e-6  # float32 has a relative precision of 1.2e-7, and sums lose some of it
_noise = torch.Generator().manual_seed(int(os.environ["ATTNBOOK_ROUNDING"]))


def disturb(optimizer: Optimizer, *_) -> None:
    """Multiply each gradient by 1 + noise, just before it is used."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                noise = torch.randn(p.grad.shape, generator=_noise)
                p.grad.mul_(1 + SIZE * noise.to(p.grad))


register_optimizer_step_pre_hook(disturb)
