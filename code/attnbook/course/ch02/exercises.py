"""Exercises of chapter 2."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import exercise


def _scores_and_masks() -> list[tuple[Tensor, Tensor]]:
    scores = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 0.0, 2.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, False, False]])
    return [(scores, mask), (200 * scores[:, [2, 0, 1, 3]], mask)]


@exercise(_scores_and_masks)
def ex2_masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Before the softmax, give padding a score so low that its exponential is 0.

    scores.masked_fill(~mask, lowest).softmax(-1) => scores.softmax(-1)
        Padding still gets weight: the mask isn't used.
    scores.masked_fill(~mask, lowest).softmax(-1) => scores.softmax(-1) * mask
        Padding gets 0, but the rest of each row sums to less than 1.
    scores.masked_fill(~mask, lowest) => (scores * mask)
        A score of 0 is a score like any other: exp(0) is 1.
    ~mask, lowest => mask, -torch.inf
        The mask is inverted: True means real token, so fill where it is False.
    return scores.masked_fill(~mask, lowest) => exps = scores.exp() * mask; return exps
    .softmax(-1) => / exps.sum(-1, keepdim=True)
        exp(600) overflows: let softmax do it, which subtracts the largest first.
    """
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1)


def _weights_and_alignments() -> list[tuple[list[Tensor], list[list[int | None]]]]:
    one = torch.tensor([[0.1, 0.9, 0.0], [0.2, 0.1, 0.7], [0.6, 0.3, 0.1]])
    two = torch.tensor([[0.7, 0.3], [0.4, 0.6]])
    return [([one], [[1, 2, None]]), ([one, two], [[1, 0, 0], [1, None]])]


@exercise(_weights_and_alignments)
def ex2_alignment_accuracy(
    weights: list[Tensor], alignments: list[list[int | None]]
) -> float:
    """Compare each row's argmax with the aligned position, where there is one.

    if wanted is not None =>
        Tokens whose alignment is None have no aligned position: leave them out.
    argmax(-1) => argmax(0)
        Take the largest weight of each row, along the source: argmax(-1).
    hits += mine => hits.append(sum(mine) / len(mine))
        Divide once, by the number of all counted tokens, not sentence by sentence.
    """
    hits = []
    for rows, alignment in zip(weights, alignments, strict=True):
        peaks = rows.argmax(-1).tolist()
        mine = [
            peak == wanted
            for peak, wanted in zip(peaks, alignment, strict=False)
            if wanted is not None
        ]
        hits += mine
    return sum(hits) / len(hits)
