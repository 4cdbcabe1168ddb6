"""The exercises of chapter @N@."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import register, wrong


def _scores() -> list[tuple[Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(3, 5, generator=generator),), (torch.tensor([1000.0, 0.0]),)]


def _overflowing(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


register(
    "ex@N@_softmax",
    reference=lambda scores: scores.softmax(-1),
    inputs=_scores,
    hint="The weights of a row are positive and sum to 1.",
    mistakes=wrong(
        _overflowing,
        "The exponential of 1000 is infinite: subtract something first.",
    ),
)
