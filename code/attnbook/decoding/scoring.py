"""How probable a model holds a given translation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS
from attnbook.nn.masks import padding_mask


@torch.no_grad()
def log_probability(model: nn.Module, src: Tensor, said: Tensor) -> Tensor:
    """How probable is what was said? The sum over its words, EOS included.

    Args:
        model: Called as ``model(src, tgt_in)``.
        src: Source ids, (B, S).
        said: Target ids, (B, T); ``PAD`` after EOS.

    Returns:
        log p(said | src), (B,).
    """
    bos = torch.full_like(said[:, :1], BOS)
    log_p = model(src, torch.cat([bos, said[:, :-1]], 1)).log_softmax(-1)
    words = log_p.gather(-1, said[..., None]).squeeze(-1)  # (B, T)
    return (words * padding_mask(said)).sum(1)
