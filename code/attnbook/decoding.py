"""From a trained model to a sentence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from attnbook.checks import check_sizes
from attnbook.vocabulary import BOS, EOS, PAD


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


def words_log_p(logits: Tensor) -> Tensor:
    """Log-probabilities of the words that can be said: not ``PAD``, not ``BOS``.

    Args:
        logits: (..., V).

    Returns:
        (..., V); -inf at the two.
    """
    log_p = logits.log_softmax(-1)
    log_p[..., [PAD, BOS]] = -torch.inf
    return log_p


def state_rows(state: Any, rows: Tensor) -> Any:
    """Take rows of everything in a decoder's state.

    Args:
        state: A tensor with one row a sentence, a number that all sentences share, or
            a tuple of such states.
        rows: Which, (R,); a row may be taken several times, or not at all.

    Returns:
        A state of R rows; the old one stays as it is.
    """
    if isinstance(state, Tensor):
        return state.index_select(0, rows)
    if isinstance(state, int):  # such as the number of the step
        return state
    parts = [state_rows(part, rows) for part in state]
    named = hasattr(state, "_fields")
    return type(state)(*parts) if named else tuple(parts)
