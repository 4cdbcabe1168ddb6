"""What all decoding methods share: allowed tokens, and the rows of a decoder state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attnbook.core.vocabulary import EOS


def token_log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities of the next token; ``PAD`` and ``BOS`` are never generated.

    Args:
        logits: (..., V).

    Returns:
        (..., V); -inf at ``PAD`` and ``BOS``.
    """
    hidden = torch.arange(logits.shape[-1], device=logits.device) < EOS  # PAD and BOS
    return logits.log_softmax(-1).masked_fill(hidden, -torch.inf)


def select_rows(state: Any, rows: Tensor) -> Any:
    """Select rows of every tensor in a decoder state.

    Args:
        state: A tensor with one row per sentence, a number that all sentences share, or
            a tuple of such states.
        rows: Indices of the rows, (R,); a row may be selected several times or never.

    Returns:
        A new state with R rows.
    """
    if isinstance(state, Tensor):
        return state.index_select(0, rows)
    if isinstance(state, int):  # such as the number of the step
        return state
    parts = [select_rows(part, rows) for part in state]
    named = hasattr(state, "_fields")
    return type(state)(*parts) if named else tuple(parts)
