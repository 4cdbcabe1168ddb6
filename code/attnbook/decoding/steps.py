"""What all decoding methods share: limits, allowed tokens, rows of a decoder state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_logits, check_sizes
from attnbook.core.vocabulary import EOS, UNK
from attnbook.nn.precision import wide


def check_decoder(model: nn.Module) -> None:
    """Raise a ValueError unless a model can decode token by token."""
    if not (hasattr(model, "start") and hasattr(model, "step")):
        raise ValueError(
            f"a {type(model).__name__} has no `start` and `step`, by which models "
            "decode; give a model such as a Transformer, and of a translator its "
            "`model`"
        )


def row_limits(max_len: Tensor | Sequence[int] | int, n_rows: int) -> list[int]:
    """One maximum length for each row of a batch, whether one is given or B.

    Raises:
        ValueError: If one is not a whole number from 1 on, or there are not B of them.
    """
    if isinstance(max_len, Tensor):
        max_len = max_len.tolist()
    limits = list(max_len) if isinstance(max_len, Sequence) else [max_len] * n_rows
    for limit in limits:
        check_sizes(max_len=limit)
    if len(limits) != n_rows:
        raise ValueError(
            f"max_len has {len(limits)} numbers for {n_rows} sentences; give one for "
            "each, or a single one for all"
        )
    return limits


def token_log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities of the next token: a word or ``EOS``, no other special token.

    Args:
        logits: (..., V).

    Returns:
        (..., V), at least float32, so that rounding makes no ties; -inf at ``PAD``,
        ``BOS`` and ``UNK``.

    Raises:
        ValueError: If a logit is NaN or +inf, or no token is possible.
    """
    ids = torch.arange(logits.shape[-1], device=logits.device)
    hidden = (ids <= UNK) & (ids != EOS)
    log_p = wide(logits).log_softmax(-1).masked_fill(hidden, -torch.inf)
    check_logits(log_p)
    return log_p


def select_rows(state: Any, rows: Tensor) -> Any:
    """Select rows of every tensor in a decoder state.

    Args:
        state: A tensor with one row per sentence; a number that all sentences share, or
            None; or a tuple, list or dict of such states.
        rows: Indices of the rows, (R,); a row may be selected several times or never.

    Returns:
        A new state with R rows.

    Raises:
        ValueError: If something else is part of the state.
    """
    if isinstance(state, Tensor) and state.dim():
        return state.index_select(0, rows)
    if state is None or isinstance(state, int | float | Tensor):  # shared by all rows
        return state
    if isinstance(state, dict):
        return {name: select_rows(part, rows) for name, part in state.items()}
    if isinstance(state, list | tuple):
        parts = [select_rows(part, rows) for part in state]
        named = hasattr(state, "_fields")
        return type(state)(*parts) if named else type(state)(parts)
    raise ValueError(
        f"the decoder state has a part of type {type(state).__name__}, whose rows are "
        "not known; make it of tensors with one row a sentence, numbers and None, in "
        "tuples, lists or dicts"
    )
