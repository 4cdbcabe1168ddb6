"""Exercises of chapter 8."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong

register(
    "ex8_who_mixes",
    reference="bd",
    hint="Ask of each: does it contain a sum or a mean over positions?",
    mistakes=wrong(
        "abd",
        "LayerNorm takes its mean over the features of one position.",
        "bcd",
        "The feed-forward network is applied to each position separately.",
        "bde",
        "x + f(x) adds the two vectors of the same position.",
        "d",
        "What does BatchNorm take its mean over?",
    ),
)


Map = Callable[[Tensor], Tensor]


def _normed_stream(x: Tensor, norm: Map, sublayer: Map) -> Tensor:
    x = norm(x)
    return x + sublayer(x)


def _maps() -> list[tuple[Tensor, Map, Map]]:
    [(x, w)] = draw_inputs(((2, 3, 4), (4, 4)))

    def norm(x: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:])

    return [(x, norm, lambda y: (y @ w).relu()), (5 * x, norm, torch.sin)]


register(
    "ex8_pre_norm",
    reference=lambda x, norm, sublayer: x + sublayer(norm(x)),
    inputs=_maps,
    hint="The sublayer gets the normalised x; its output is added to x itself.",
    mistakes=wrong(
        _normed_stream,
        "The normalised x is carried on, so the stream passes through the norm.",
        lambda x, norm, sublayer: norm(x + sublayer(x)),
        "This is post-norm.",
        lambda x, norm, sublayer: x + norm(sublayer(x)),
        "The norm belongs before the sublayer, not after it.",
        lambda x, norm, sublayer: sublayer(norm(x)),
        "The residual is missing.",
    ),
)


def _norm_gradient(
    x: Tensor, g: Tensor, *, mean: float = 1, along: float = 1, correction: int = 0
) -> Tensor:
    """The gradient of a norm's input; the factors leave out what is forgotten."""
    sigma, mu = torch.std_mean(x, -1, correction=correction, keepdim=True)
    y = (x - mu) / sigma
    rest = g - mean * g.mean(-1, keepdim=True)
    return (rest - along * (g * y).mean(-1, keepdim=True) * y) / sigma


register(
    "ex8_norm_gradient",
    reference=_norm_gradient,
    inputs=lambda: draw_inputs(((2, 4), (2, 4)), ((2, 3, 8), (2, 3, 8))),
    hint="Write y_c with all features of x, differentiate by x_a, and sum over c with "
    "g_c. A feature changes y_c in three ways: itself, through the mean and through "
    "the standard deviation.",
    mistakes=wrong(
        lambda x, g: _norm_gradient(x, g, mean=0, along=0),
        "You keep the mean and the standard deviation fixed; both depend on x.",
        lambda x, g: _norm_gradient(x, g, along=0),
        "The mean is right, but the standard deviation depends on x as well.",
        lambda x, g: _norm_gradient(x, g, mean=0),
        "The standard deviation is right, but the mean depends on x as well.",
        lambda x, g: _norm_gradient(x, g, correction=1),
        "LayerNorm divides the sum of squares by D, not by D - 1.",
        lambda x, g: _norm_gradient(x, g) * x.std(-1, correction=0, keepdim=True),
        "The division by the standard deviation is missing.",
        lambda x, g: g,
        "Nothing is computed yet.",
    ),
)
