"""Several models that translate as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.decoding.steps import check_decoder
from attnbook.nn.precision import wide


class Ensemble(nn.Module):
    """The mean of the next-token probabilities of several models.

    Args:
        models: Models with the same vocabularies, each with ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``.

    Raises:
        ValueError: If there are none, or one cannot decode.
    """

    def __init__(self, models: Sequence[nn.Module]):
        super().__init__()
        if not models:
            raise ValueError("an ensemble needs at least one model; there is none")
        for model in models:
            check_decoder(model)
        self.members = nn.ModuleList(models)

    def start(self, src: Tensor) -> tuple:
        """Return the models' states for source ids, (B, S)."""
        return tuple(model.start(src) for model in self.members)

    def step(self, token: Tensor, state: tuple) -> tuple[Tensor, tuple[Any, ...]]:
        """Return logits of the next token, (B, V), and the new states.

        Args:
            token: Ids of the last token, (B,).
            state: From :meth:`start` or the previous step.
        """
        pairs = zip(self.members, state, strict=True)
        steps = [model.step(token, own) for model, own in pairs]
        log_p = torch.stack([wide(logits).log_softmax(-1) for logits, _ in steps])
        return log_p.logsumexp(0), tuple(own for _, own in steps)
