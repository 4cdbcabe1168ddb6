"""Greedy decoding: generate the most probable token at each step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.steps import row_limits, token_log_probs


@torch.no_grad()
def greedy(
    model: nn.Module, src: Tensor, max_len: Tensor | Sequence[int] | int
) -> Tensor:
    """Generate the most probable token, feed it back, and so on until EOS.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``.
        src: Source ids, (B, S).
        max_len: Maximum length of the output, EOS included: one for all sentences, or
            one for each.

    Returns:
        Target ids, (B, at most ``max_len``); ``PAD`` after EOS or the maximum. Before,
        no special token is generated.

    Raises:
        ValueError: If ``max_len`` is not a whole number from 1 on, or logits are not
            finite.
    """
    state = model.start(src)
    limits = torch.tensor(row_limits(max_len, len(src)), device=src.device)  # (B,)
    token = torch.full_like(limits, BOS)
    finished = torch.zeros_like(limits, dtype=torch.bool)
    output = []
    while not finished.all():
        logits, state = model.step(token, state)  # (B, V)
        token = token_log_probs(logits).argmax(-1).masked_fill(finished, PAD)  # (B,)
        output.append(token)
        finished = finished | (token == EOS) | (limits == len(output))
    return torch.stack(output, dim=1)
