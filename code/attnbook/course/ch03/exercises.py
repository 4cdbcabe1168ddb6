"""Exercises of chapter 3."""

from functools import partial

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong
from attnbook.nn.masks import masked_softmax

register(
    "ex3_general_is_dot",
    reference=lambda states, w: states @ w.T,
    inputs=lambda: draw_inputs(((2, 3, 4), (4, 4)), ((1, 5, 2), (2, 2))),
    hint="Row j must be W h_j. The rows of `states` are the h_j.",
    mistakes=wrong(
        lambda states, w: states @ w,
        "Row j is now W transposed times h_j. A row times W.T is W times a column.",
        lambda states, w: states,
        "Those are the keys of the plain dot product; W is not in them.",
        lambda states, w: states.transpose(1, 2),
        "Only the axes are swapped; W is not in the keys.",
    ),
)


def _local_p(
    scores: Tensor, p: float, d: int, sigma=0.5, power=2, renormalise=False, cut=True
) -> Tensor:
    """Weights of equation 10, or with a mistake by the last four arguments."""
    away = (torch.arange(len(scores)) - p).abs()  # (S,)
    inside = away <= d
    weights = (
        masked_softmax(scores, inside) if cut else scores.softmax(-1) * inside
    ) * torch.exp(-(away**power) / (2 * (sigma * d) ** 2))
    return weights / weights.sum() if renormalise else weights


register(
    "ex3_local_p",
    reference=_local_p,
    inputs=lambda: draw_inputs(((9,), 4.3, 2), ((7,), 0.4, 3), ((12,), 10.0, 4)),
    hint="Softmax over the positions within D of p, zeros elsewhere; then multiply.",
    mistakes=wrong(
        partial(_local_p, renormalise=True),
        "You divide by the sum. Equation 10 does not: the weights sum to under 1.",
        partial(_local_p, sigma=1),
        "Your sigma is D; the paper's is D / 2.",
        partial(_local_p, cut=False),
        "Your softmax also counts the positions outside the window.",
        partial(_local_p, power=1),
        "The distance must be squared in the exponent.",
    ),
)
