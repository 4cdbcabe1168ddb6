"""Exercises of chapter 8."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise


@exercise()
def ex8_who_mixes() -> str:
    """Ask of each: does it contain a sum or a mean over positions?

    bd => abd
        LayerNorm takes its mean over the features of one position.
    bd => bcd
        The feed-forward network is applied to each position separately.
    bd => bde
        x + f(x) adds the two vectors of the same position.
    bd => d
        What does BatchNorm take its mean over?
    """
    return "bd"


Map = Callable[[Tensor], Tensor]


def _maps() -> list[tuple[Tensor, Map, Map]]:
    [(x, w)] = draw_inputs(((2, 3, 4), (4, 4)))

    def norm(x: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:])

    return [(x, norm, lambda y: (y @ w).relu()), (5 * x, norm, torch.sin)]


@exercise(_maps)
def ex8_pre_norm(x: Tensor, norm: Map, sublayer: Map) -> Tensor:
    """The sublayer gets the normalised x; its output is added to x itself.

    sublayer(norm(x)) => sublayer(x)
    return x => x = norm(x); return x
        The normalised x is carried on, so the stream passes through the norm.
    x + sublayer(norm(x)) => norm(x + sublayer(x))
        This is post-norm.
    sublayer(norm(x)) => norm(sublayer(x))
        The norm belongs before the sublayer, not after it.
    x + sublayer => sublayer
        The residual is missing.
    """
    return x + sublayer(norm(x))


@exercise(lambda: draw_inputs(((2, 4), (2, 4)), ((2, 3, 8), (2, 3, 8))))
def ex8_norm_gradient(x: Tensor, g: Tensor) -> Tensor:
    """Write y_c with all features of x, differentiate by x_a, and sum over c with g_c.
    A feature changes y_c in three ways: itself, through the mean and through the
    standard deviation.

    (rest - (g * y).mean(-1, keepdim=True) * y) / sigma => g / sigma
        You keep the mean and the standard deviation fixed; both depend on x.
    (rest - (g * y).mean(-1, keepdim=True) * y) => rest
        The mean is right, but the standard deviation depends on x as well.
    g - g.mean(-1, keepdim=True) => g
        The standard deviation is right, but the mean depends on x as well.
    correction=0 => correction=1
        LayerNorm divides the sum of squares by D, not by D - 1.
    * y) / sigma => * y)
        The division by the standard deviation is missing.
    (rest - (g * y).mean(-1, keepdim=True) * y) / sigma => g
        Nothing is computed yet.
    """
    sigma, mu = torch.std_mean(x, -1, correction=0, keepdim=True)
    y = (x - mu) / sigma
    rest = g - g.mean(-1, keepdim=True)
    return (rest - (g * y).mean(-1, keepdim=True) * y) / sigma
