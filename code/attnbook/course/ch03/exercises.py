"""Exercises of chapter 3."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise


@exercise(lambda: draw_inputs(((2, 3, 4), (4, 4)), ((1, 5, 2), (2, 2))))
def ex3_general_is_dot(states: Tensor, w: Tensor) -> Tensor:
    """Row j must be W h_j. The rows of `states` are the h_j.

    w.T => w
        Row j is now W transposed times h_j. A row times W.T is W times a column.
    states @ w.T => states
        Those are the keys of the plain dot product; W is not in them.
    states @ w.T => states.transpose(1, 2)
        Only the axes are swapped; W is not in the keys.
    """
    return states @ w.T


@exercise(lambda: draw_inputs(((9,), 4.3, 2), ((7,), 0.4, 3), ((12,), 10.0, 4)))
def ex3_local_p(scores: Tensor, p: float, d: int) -> Tensor:
    """Softmax over the positions within D of p, zeros elsewhere; then multiply.

    return weights => weights = weights
    ** 2)) => ** 2)); return weights / weights.sum()
        You divide by the sum. Equation 10 does not: the weights sum to under 1.
    (d / 2) => d
        Your sigma is D; the paper's is D / 2.
    scores.masked_fill(away > d, -torch.inf).softmax(-1) => scores.softmax(-1)
    return weights => return (away <= d) * weights
        Your softmax also counts the positions outside the window.
    away**2 => away
        The distance must be squared in the exponent.
    """
    away = (torch.arange(len(scores)) - p).abs()  # (S,)
    weights = scores.masked_fill(away > d, -torch.inf).softmax(-1)
    return weights * torch.exp(-(away**2) / (2 * (d / 2) ** 2))
