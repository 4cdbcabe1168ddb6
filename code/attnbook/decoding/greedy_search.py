"""From a trained model to a sentence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS, PAD


@torch.no_grad()
def greedy(model: nn.Module, src: Tensor, max_len: int) -> Tensor:
    """Say the most probable word, read it, say the next, until EOS.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``.
        src: Source ids, (B, S).
        max_len: Longest output, EOS included.

    Returns:
        Target ids, (B, at most ``max_len``); ``PAD`` after EOS.

    Raises:
        ValueError: If ``max_len`` is not a whole number from 1 on.
    """
    check_sizes(max_len=max_len)
    state = model.start(src)
    token = torch.full((len(src),), BOS, device=src.device)
    finished = torch.zeros_like(token, dtype=torch.bool)
    said = []
    while len(said) < max_len and not finished.all():
        logits, state = model.step(token, state)  # (B, V)
        token = logits.argmax(-1).masked_fill(finished, PAD)  # (B,)
        finished = finished | (token == EOS)
        said.append(token)
    return torch.stack(said, dim=1)
