"""The log-probability that a model gives to a translation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS
from attnbook.nn.masks import padding_mask


@torch.no_grad()
def log_probability(model: nn.Module, src: Tensor, output: Tensor) -> Tensor:
    """Log-probability of an output: the sum over its tokens, EOS included.

    Args:
        model: Called as ``model(src, tgt_in)``.
        src: Source ids, (B, S).
        output: Target ids, (B, T); ``PAD`` after EOS.

    Returns:
        log p(output | src), (B,).
    """
    bos = torch.full_like(output[:, :1], BOS)
    log_p = model(src, torch.cat([bos, output[:, :-1]], 1)).log_softmax(-1)
    of_tokens = log_p.gather(-1, output[..., None]).squeeze(-1)  # (B, T)
    return (of_tokens * padding_mask(output)).sum(1)
