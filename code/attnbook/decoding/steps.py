"""What all ways of decoding share: the model's log-probabilities and its state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attnbook.core.vocabulary import BOS, PAD


def token_log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities of the words that can be said: not ``PAD``, not ``BOS``.

    Args:
        logits: (..., V).

    Returns:
        (..., V); -inf at the two.
    """
    log_p = logits.log_softmax(-1)
    log_p[..., [PAD, BOS]] = -torch.inf
    return log_p


def select_rows(state: Any, rows: Tensor) -> Any:
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
    parts = [select_rows(part, rows) for part in state]
    named = hasattr(state, "_fields")
    return type(state)(*parts) if named else tuple(parts)
