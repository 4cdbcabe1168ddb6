"""Exercises of chapter 6."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises.checking import register, wrong
from attnbook.nn.masks import causal_mask, key_mask, padding_mask, target_mask

register(
    "ex6_allowed",
    reference=(21, 11),
    hint="Draw both masks, 6 × 6. Query i may attend to the real tokens among 1 … i.",
    mistakes=wrong(
        (21, 3),
        "Queries at padding aren't masked: padding is masked as a key only.",
        (36, 12),
        "That is the padding mask alone; later positions are masked too.",
        (21, 21),
        "That is the causal mask alone; the second sentence has four padding tokens.",
        (15, 9),
        "A position may attend to itself: the diagonal is True at real tokens.",
    ),
)


def _padded_ids() -> list[tuple[Tensor]]:
    return [
        (torch.tensor([[5, 6, 7, 8], [5, 6, PAD, PAD]]),),
        (torch.tensor([[9, 4, 4, 5, PAD]]),),
        (torch.tensor([[5, 6, 7], [8, 9, 4], [5, PAD, PAD]]),),
    ]


def _torch_masks(ids: Tensor) -> tuple[Tensor, Tensor]:
    return ~padding_mask(ids), ~causal_mask(ids.shape[1])


register(
    "ex6_torch_masks",
    reference=_torch_masks,
    inputs=_padded_ids,
    hint="Padding, (B, T), and a triangle, (T, T); both True where masked.",
    mistakes=wrong(
        lambda ids: (padding_mask(ids), causal_mask(ids.shape[1])),
        "Those are ours, True = may attend. Here True masks: invert both with ~.",
        lambda ids: (~padding_mask(ids), causal_mask(ids.shape[1])),
        "The padding is right. In attn_mask, too, True masks: invert it.",
        lambda ids: (padding_mask(ids), ~causal_mask(ids.shape[1])),
        "The triangle is right. In key_padding_mask, too, True masks: invert it.",
        lambda ids: (~padding_mask(ids), causal_mask(ids.shape[1]).T),
        "A position may attend to itself: masked cells begin right of the diagonal.",
        lambda ids: (~padding_mask(ids), ~causal_mask(ids.shape[1]).T),
        "Your triangle is transposed: in row i the positions after i are masked.",
        lambda ids: (~key_mask(ids), ~causal_mask(ids.shape[1])),
        "This layer adds the axes itself: key_padding_mask is (B, T).",
        lambda ids: (~padding_mask(ids), ~target_mask(ids)),
        "The triangle alone, (T, T): the padding goes into the other mask.",
        lambda ids: (~causal_mask(ids.shape[1]), ~padding_mask(ids)),
        "The padding comes first, then the triangle.",
    ),
)


def _window(t: int, w: int) -> Tensor:
    return torch.ones(t, t, dtype=torch.bool).tril().triu(1 - w)


register(
    "ex6_window",
    reference=_window,
    inputs=lambda: [(5, 2), (6, 3), (4, 1), (3, 9)],
    hint="With d = i - j, how far key j is before query i: allowed is 0 ≤ d < w.",
    mistakes=wrong(
        lambda t, w: torch.ones(t, t, dtype=torch.bool).tril().triu(-w),
        "One too many: the position itself is one of the w.",
        lambda t, w: torch.ones(t, t, dtype=torch.bool).tril(w - 1).triu(1 - w),
        "The window also reaches forward, to later positions.",
        lambda t, w: torch.ones(t, t, dtype=torch.bool).tril(),
        "Every row reaches back to the first position; w is not used.",
    ),
)
