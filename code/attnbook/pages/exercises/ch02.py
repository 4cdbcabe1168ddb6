"""Exercises of chapter 2."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.nn.masks import masked_softmax
from attnbook.pages.exercises.checking import register, wrong
from attnbook.pages.exercises.inputs import drawn

_WEIGHTS_AND_STATES = ((2, 3), (2, 3, 4)), ((3, 5), (3, 5, 2))

register(
    "ex2_context",
    reference=lambda weights, states: (weights[..., None] * states).sum(1),
    inputs=lambda: [(w.softmax(-1), h) for w, h in drawn(*_WEIGHTS_AND_STATES)],
    hint="Multiply each state by its weight, and sum over the places, axis 1.",
    mistakes=wrong(
        lambda weights, states: states.mean(1),
        "Every place counts alike in yours: the weights are not used.",
        lambda weights, states: (weights[..., None] * states).mean(1),
        "Do not divide by S: the weights sum to 1 already.",
        lambda weights, states: weights[..., None] * states,
        "Each state has its weight; the sum over the places is missing.",
        lambda weights, states: weights @ states,
        "(B, S) @ (B, S, W) mixes the sentences: make the weights (B, 1, S).",
    ),
)


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
    hint="Before the softmax, give the forbidden places a score so low that exp is 0.",
    mistakes=wrong(
        lambda scores, mask: scores.softmax(-1),
        "The pads still get weight: the mask is not used.",
        lambda scores, mask: scores.softmax(-1) * mask,
        "The pads are 0, but the rest of a row sums to less than 1.",
        lambda scores, mask: (scores * mask).softmax(-1),
        "A score of 0 is a score like any other: exp(0) is 1.",
        lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(-1),
        "The wrong way round: True means may be used, so fill where it is False.",
        _exp_then_mask,
        "exp(600) overflows: let softmax do it, which subtracts the largest first.",
    ),
)


def _additive(s: Tensor, states: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((s @ w.T)[:, None] + states @ u.T) @ v


register(
    "ex2_additive_score",
    reference=_additive,
    inputs=lambda: drawn(((2, 3), (2, 4, 5), (6, 3), (6, 5), (6,))),
    hint="W s is (B, A), U h is (B, S, A): insert an axis, add, tanh, product with v.",
    mistakes=wrong(
        lambda s, states, w, u, v: ((s @ w.T)[:, None] + states @ u.T) @ v,
        "The tanh is missing. Without it the query adds the same to every place.",
        lambda s, states, w, u, v: torch.tanh(states @ u.T) @ v,
        "The query is missing: every step would get the same scores.",
        lambda s, states, w, u, v: (
            (torch.tanh(s @ w.T)[:, None] + torch.tanh(states @ u.T)) @ v
        ),
        "Add first, then take the tanh of the sum.",
        lambda s, states, w, u, v: _additive(s, states, w, u, v).softmax(-1),
        "Those are weights already; wanted are the scores before the softmax.",
    ),
)

register(
    "ex2_key_projection",
    reference=(20 * 128 * 64, 20 * 20 * 128 * 64),
    hint="U h_j takes K · A multiplications for one place; count places, then steps.",
    mistakes=wrong(
        (20 * 20 * 128 * 64, 20 * 128 * 64),
        "The two have changed places: once comes first.",
        (128 * 64, 20 * 128 * 64),
        "That is one place; the source has 20.",
        (20 * 128, 20 * 20 * 128),
        "U has A rows: each place takes K multiplications for every one of them.",
    ),
)


def _weights_and_alignments() -> list[tuple[list[Tensor], list[list[int | None]]]]:
    one = torch.tensor([[0.1, 0.9, 0.0], [0.2, 0.1, 0.7], [0.6, 0.3, 0.1]])
    two = torch.tensor([[0.7, 0.3], [0.4, 0.6]])
    return [([one], [[1, 2, None]]), ([one, two], [[1, 0, 0], [1, None]])]


def _share(weights, alignments, axis=-1, count_none=False, per_sentence=False) -> float:
    """The alignment score, rightly or, by its last three arguments, with a mistake."""
    shares, hits = [], []
    for rows, alignment in zip(weights, alignments, strict=True):
        looked_at = rows.argmax(axis).tolist()
        mine = [
            place == wanted
            for place, wanted in zip(looked_at, alignment, strict=False)
            if wanted is not None or count_none
        ]
        hits += mine
        shares.append(sum(mine) / len(mine))
    return sum(shares) / len(shares) if per_sentence else sum(hits) / len(hits)


register(
    "ex2_alignment_score",
    reference=_share,
    inputs=_weights_and_alignments,
    hint="Compare the argmax of each row with the wanted place, where there is one.",
    mistakes=wrong(
        lambda weights, alignments: _share(weights, alignments, count_none=True),
        "Words whose alignment is None have no right place: leave them out.",
        lambda weights, alignments: _share(weights, alignments, axis=0),
        "Take the largest weight of each row, along the source: argmax(-1).",
        lambda weights, alignments: _share(weights, alignments, per_sentence=True),
        "Divide once, by all counted words; your mean gives short sentences more.",
    ),
)
