"""Layer normalisation from its formula: Ba et al. 2016."""

from __future__ import annotations

import torch
from torch import Tensor


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    r"""Give the features of each position mean 0 and variance 1, then gain and bias.

    :math:`(x - \mu) / \sqrt{\sigma^2 + \epsilon} \cdot g + b`, Ba et al. 2016. Mean
    and variance are those of one position's D features; the variance divides by D, and
    ε stands inside the root. ``nn.LayerNorm`` does the same in one kernel, and is
    what the Transformer's layers use.

    Args:
        x: (..., D).
        gain: g, (D,).
        bias: b, (D,).
        eps: ε, so that a position of equal features is not divided by 0.

    Returns:
        (..., D).
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + eps) * gain + bias
