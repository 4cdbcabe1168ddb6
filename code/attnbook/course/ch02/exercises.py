"""Exercises of chapter 2."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import register, wrong
from attnbook.nn.masks import masked_softmax


def _scores_and_masks() -> list[tuple[Tensor, Tensor]]:
    scores = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 0.0, 2.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, False, False]])
    return [(scores, mask), (200 * scores[:, [2, 0, 1, 3]], mask)]


def _exp_then_mask(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.exp() * mask
    return weights / weights.sum(-1, keepdim=True)


register(
    "ex2_masked_softmax",
    reference=masked_softmax,
    inputs=_scores_and_masks,
    hint="Before the softmax, give padding a score so low that its exponential is 0.",
    mistakes=wrong(
        lambda scores, mask: scores.softmax(-1),
        "Padding still gets weight: the mask isn't used.",
        lambda scores, mask: scores.softmax(-1) * mask,
        "Padding gets 0, but the rest of each row sums to less than 1.",
        lambda scores, mask: (scores * mask).softmax(-1),
        "A score of 0 is a score like any other: exp(0) is 1.",
        lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(-1),
        "The mask is inverted: True means real token, so fill where it is False.",
        _exp_then_mask,
        "exp(600) overflows: let softmax do it, which subtracts the largest first.",
    ),
)


def _weights_and_alignments() -> list[tuple[list[Tensor], list[list[int | None]]]]:
    one = torch.tensor([[0.1, 0.9, 0.0], [0.2, 0.1, 0.7], [0.6, 0.3, 0.1]])
    two = torch.tensor([[0.7, 0.3], [0.4, 0.6]])
    return [([one], [[1, 2, None]]), ([one, two], [[1, 0, 0], [1, None]])]


def _share(weights, alignments, axis=-1, count_none=False, per_sentence=False) -> float:
    """The alignment accuracy; the last three arguments make it wrong."""
    shares, hits = [], []
    for rows, alignment in zip(weights, alignments, strict=True):
        peaks = rows.argmax(axis).tolist()
        mine = [
            peak == wanted
            for peak, wanted in zip(peaks, alignment, strict=False)
            if wanted is not None or count_none
        ]
        hits += mine
        shares.append(sum(mine) / len(mine))
    return sum(shares) / len(shares) if per_sentence else sum(hits) / len(hits)


register(
    "ex2_alignment_accuracy",
    reference=_share,
    inputs=_weights_and_alignments,
    hint="Compare each row's argmax with the aligned position, where there is one.",
    mistakes=wrong(
        lambda weights, alignments: _share(weights, alignments, count_none=True),
        "Tokens whose alignment is None have no aligned position: leave them out.",
        lambda weights, alignments: _share(weights, alignments, axis=0),
        "Take the largest weight of each row, along the source: argmax(-1).",
        lambda weights, alignments: _share(weights, alignments, per_sentence=True),
        "Divide once, by the number of all counted tokens, not sentence by sentence.",
    ),
)
