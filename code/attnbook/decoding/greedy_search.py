"""Greedy decoding: generate the most probable token at each step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.steps import token_log_probs


@torch.no_grad()
def greedy(model: nn.Module, src: Tensor, max_len: int) -> Tensor:
    """Generate the most probable token, feed it back, and so on until EOS.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``.
        src: Source ids, (B, S).
        max_len: Maximum length of the output, EOS included.

    Returns:
        Target ids, (B, at most ``max_len``); ``PAD`` after EOS. Before EOS, ``PAD`` and
        ``BOS`` are never generated.

    Raises:
        ValueError: If ``max_len`` is not a whole number from 1 on.
    """
    check_sizes(max_len=max_len)
    state = model.start(src)
    token = torch.full((len(src),), BOS, device=src.device)
    finished = torch.zeros_like(token, dtype=torch.bool)
    output = []
    while len(output) < max_len and not finished.all():
        logits, state = model.step(token, state)  # (B, V)
        token = token_log_probs(logits).argmax(-1).masked_fill(finished, PAD)  # (B,)
        finished = finished | (token == EOS)
        output.append(token)
    return torch.stack(output, dim=1)
