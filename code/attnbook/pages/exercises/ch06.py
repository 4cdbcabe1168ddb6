"""Exercises of chapter 6."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import causal_mask, key_mask, padding_mask, target_mask
from attnbook.pages.exercises.checking import register, wrong

register(
    "ex6_allowed",
    reference=(21, 11),
    hint="Draw the two maps of 6 × 6. Row i may see the real words among 0 … i.",
    mistakes=wrong(
        (21, 3),
        "The rows of pads are not empty: a pad may look, nobody may see it.",
        (36, 12),
        "That is the padding mask alone; later places are hidden too.",
        (21, 21),
        "That is the causal mask alone; in the second, four are pads.",
        (15, 9),
        "A place may see itself: the diagonal is open where the word is real.",
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
    hint="Pads, (B, T), and a triangle, (T, T); both True where it must not look.",
    mistakes=wrong(
        lambda ids: (padding_mask(ids), causal_mask(ids.shape[1])),
        "Those are ours, True = may look. Here True hides: turn both round.",
        lambda ids: (~padding_mask(ids), causal_mask(ids.shape[1])),
        "The padding is right. In attn_mask, too, True hides: turn it round.",
        lambda ids: (padding_mask(ids), ~causal_mask(ids.shape[1])),
        "The triangle is right. In key_padding_mask, too, True hides.",
        lambda ids: (~padding_mask(ids), causal_mask(ids.shape[1]).T),
        "A place may see itself: what is hidden begins right of the diagonal.",
        lambda ids: (~padding_mask(ids), ~causal_mask(ids.shape[1]).T),
        "Your triangle is turned over: in row i the places after i are hidden.",
        lambda ids: (~key_mask(ids), ~causal_mask(ids.shape[1])),
        "This layer adds the axes itself: key_padding_mask is (B, T).",
        lambda ids: (~padding_mask(ids), ~target_mask(ids)),
        "The triangle alone, (T, T): the pads go into the other mask.",
        lambda ids: (~causal_mask(ids.shape[1]), ~padding_mask(ids)),
        "The padding comes first, then the triangle.",
    ),
)


def _late(t: int, s: int) -> Tensor:
    return torch.ones(t, s, dtype=torch.bool).tril(s - t)


register(
    "ex6_late_queries",
    reference=_late,
    inputs=lambda: [(2, 5), (1, 4), (3, 3), (4, 6)],
    hint="Query i stands at place S - T + i of the sentence; it may see that far.",
    mistakes=wrong(
        lambda t, s: torch.ones(t, s, dtype=torch.bool).tril(),
        "That is the triangle as it was: query 0 sees the first word alone.",
        lambda t, s: torch.ones(t, s, dtype=torch.bool).tril(s - t - 1),
        "One too few: a query may see its own place.",
        lambda t, s: torch.ones(t, s, dtype=torch.bool),
        "The first of the queries must not see the last word.",
    ),
)


def _influences() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(0)
    full = 0.1 + torch.rand(4, 4, generator=g)
    causal = causal_mask(4)
    two_leaks = causal.clone()
    two_leaks[0, 2] = two_leaks[1, 3] = True
    lost = causal.clone()
    lost[3, 0] = False
    return [
        (full * two_leaks, causal),
        (full * lost, causal),
        (full[:2], torch.tensor([[True, True, True, False]]).expand(2, 4)),
    ]


register(
    "ex6_leaks",
    reference=lambda influence, mask: ((influence > 0) & ~mask).nonzero().tolist(),
    inputs=_influences,
    hint="A leak: output i moves, influence[i, j] > 0, though mask[i, j] is False.",
    mistakes=wrong(
        lambda influence, mask: ((influence > 0) != mask).nonzero().tolist(),
        "You also count what is lost: an output that ought to move and does not.",
        lambda influence, mask: ((influence > 0) & mask).nonzero().tolist(),
        "Those are the pairs that may look; wanted are those that must not.",
        lambda influence, mask: [
            [j, i] for i, j in ((influence > 0) & ~mask).nonzero().tolist()
        ],
        "The output comes first: [i, j], row and then column.",
        lambda influence, mask: ((influence > 0) & ~mask).nonzero(),
        "The pairs are right; wanted is a list: .tolist() makes one.",
    ),
)


def _window(t: int, w: int) -> Tensor:
    return torch.ones(t, t, dtype=torch.bool).tril().triu(1 - w)


register(
    "ex6_window",
    reference=_window,
    inputs=lambda: [(5, 2), (6, 3), (4, 1), (3, 9)],
    hint="With d = i - j, how far key j lies before query i: allowed is 0 ≤ d < w.",
    mistakes=wrong(
        lambda t, w: torch.ones(t, t, dtype=torch.bool).tril().triu(-w),
        "One too many: the place itself is one of the w.",
        lambda t, w: torch.ones(t, t, dtype=torch.bool).tril(w - 1).triu(1 - w),
        "The window also reaches forward, to words that are not there yet.",
        lambda t, w: torch.ones(t, t, dtype=torch.bool).tril(),
        "Every row sees back to the first word; w is not used.",
    ),
)
