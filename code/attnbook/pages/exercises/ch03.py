"""Exercises of chapter 3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from attnbook.nn.masks import masked_softmax
from attnbook.pages.exercises.checking import register, wrong
from attnbook.pages.exercises.inputs import drawn
from attnbook.toy.language import translate_by_rule


def _allowed(p: float, d: int, s: int) -> list[int]:
    return [place for place in range(s) if abs(place - p) <= d]


register(
    "ex3_window",
    reference=_allowed,
    inputs=lambda: [(4.0, 2, 10), (4.5, 2, 10), (0.7, 3, 9), (8.6, 3, 10), (2.3, 0, 5)],
    hint="A place s is allowed if it exists, 0 ≤ s < S, and |s - p| ≤ D.",
    mistakes=wrong(
        lambda p, d, s: list(range(math.ceil(p - d), math.floor(p + d) + 1)),
        "Places before the first word or behind the last do not exist.",
        lambda p, d, s: [i for i in range(s) if abs(i - round(p)) <= d],
        "p is not to be rounded: between two places the window holds 2D of them.",
        lambda p, d, s: [i for i in range(s) if abs(i - p) < d],
        "A place exactly D away is still inside.",
        lambda p, d, s: [i for i in range(1, s + 1) if abs(i - p) <= d],
        "Places are counted from 0: the last one is S - 1.",
    ),
)


register(
    "ex3_general_is_dot",
    reference=lambda states, w: states @ w.T,
    inputs=lambda: drawn(((2, 3, 4), (4, 4)), ((1, 5, 2), (2, 2))),
    hint="Row j must be W h_j. The rows of `states` are the h_j.",
    mistakes=wrong(
        lambda states, w: states @ w,
        "Row j is now W transposed times h_j. A row times W.T is W times a column.",
        lambda states, w: states,
        "Those are the keys of the plain dot product; W is not in them.",
        lambda states, w: states.transpose(1, 2),
        "Only the axes have changed places; W is not in them.",
    ),
)


def _local_p(
    scores: Tensor, p: float, d: int, sigma=0.5, power=2, renormalise=False, cut=True
) -> Tensor:
    """Weights of equation 10, rightly or, by the last four arguments, with a mistake.

    Args:
        scores: (S,).
        p: The centre.
        d: D.
        sigma: As a share of D.
        power: Of the distance in the exponent.
        renormalise: Whether to divide by the sum.
        cut: Whether the softmax sees the window alone.
    """
    away = (torch.arange(len(scores)) - p).abs()  # (S,)
    inside = away <= d
    weights = (
        masked_softmax(scores, inside) if cut else scores.softmax(-1) * inside
    ) * torch.exp(-(away**power) / (2 * (sigma * d) ** 2))
    return weights / weights.sum() if renormalise else weights


register(
    "ex3_local_p",
    reference=_local_p,
    inputs=lambda: drawn(((9,), 4.3, 2), ((7,), 0.4, 3), ((12,), 10.0, 4)),
    hint="Softmax over the places within D of p, zeros elsewhere; then the Gaussian.",
    mistakes=wrong(
        partial(_local_p, renormalise=True),
        "You divide by the sum. Equation 10 does not: the weights sum to under 1.",
        partial(_local_p, sigma=1),
        "Your sigma is D; the paper's is D / 2.",
        partial(_local_p, cut=False),
        "Your softmax also counts the places outside of the window.",
        partial(_local_p, power=1),
        "The distance must be squared in the exponent.",
    ),
)


register(
    "ex3_attentional_state",
    reference=lambda c, h, w: torch.tanh(torch.cat([c, h], -1) @ w.T),
    inputs=lambda: drawn(((2, 3), (2, 3), (3, 6)), ((4, 2), (4, 2), (2, 4))),
    hint="Put c and h side by side, (B, 2H), multiply by W_c transposed, take tanh.",
    mistakes=wrong(
        lambda c, h, w: torch.tanh(torch.cat([h, c], -1) @ w.T),
        "The order matters: c comes first.",
        lambda c, h, w: torch.cat([c, h], -1) @ w.T,
        "The tanh is missing.",
        lambda c, h, w: torch.tanh(torch.cat([c, h], -1)),
        "Without W_c the result is as wide as c and h together.",
    ),
)


def _alignments() -> list[tuple[tuple[int | None, ...]]]:
    return [
        (translate_by_rule("the old farmer sees a bird").alignment,),
        (
            translate_by_rule(
                "a cat finds the dog and a bird hears this kind king"
            ).alignment,
        ),
        ((0, 1, 2),),
        ((1, 2, 3, 4, 0),),
        ((7, 6, None, 4, 3, 2, 1, 0),),
    ]


def _reach(alignment: Sequence[int | None]) -> int:
    return max(abs(j - i) for i, j in enumerate(alignment) if j is not None)


register(
    "ex3_reach",
    reference=_reach,
    inputs=_alignments,
    hint="The window of step i is centred on place i; how far off is the farthest j?",
    mistakes=wrong(
        lambda a: max(j - i for i, j in enumerate(a) if j is not None),
        "The window reaches to both sides: a word before place i counts as well.",
        lambda a: max(abs((j or 0) - i) for i, j in enumerate(a)),
        "None is no place: leave the connective out.",
        lambda a: max(abs(j - i) for i, j in enumerate(a, 1) if j is not None),
        "Steps and places are both counted from 0.",
        lambda a: 2 * _reach(a) + 1,
        "That is the number of places in the window; D is its half width.",
    ),
)
