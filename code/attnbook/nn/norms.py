"""Layer normalisation (Ba et al. 2016) and RMSNorm (Zhang and Sennrich 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.precision import wide


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
        (..., D), of the type of x; computed in at least float32, because squares of
        float16 numbers overflow from 256 on.
    """
    exact = wide(x)
    centred = exact - exact.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return (centred * torch.rsqrt(variance + eps) * gain + bias).to(x.dtype)


def rms_norm(x: Tensor, gain: Tensor, eps: float = 1e-6) -> Tensor:
    r"""Give the features of each position a mean square of 1, then a gain.

    :math:`x / \sqrt{\mathrm{mean}(x^2) + \epsilon} \cdot g`, Zhang and Sennrich
    2019. No mean is subtracted and no bias added. ``F.rms_norm`` does the same.

    Args:
        x: (..., D).
        gain: g, (D,).
        eps: ε, so that a position of zeros is not divided by 0.

    Returns:
        (..., D), of the type of x; computed as :func:`layer_norm`.
    """
    exact = wide(x)
    normed = exact * torch.rsqrt(exact.square().mean(-1, keepdim=True) + eps)
    return (normed.to(x.dtype) * gain).to(x.dtype)  # a gain may be wider than x


class RMSNorm(nn.Module):
    """RMSNorm with a learned gain, which starts at 1.

    Args:
        d_model: Width D of what is normalised; that of a head for QK-norm.
        eps: ε inside the root.
    """

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        check_sizes(d_model=d_model)
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each position: (..., D) to (..., D)."""
        return rms_norm(x, self.gain, self.eps)
