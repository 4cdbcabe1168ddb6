"""Exercises of chapter 8."""

from __future__ import annotations

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


def _parameters(d: int, d_ff: int, decoder: bool = False) -> int:
    attentions = 2 if decoder else 1
    attention, norm = 4 * (d * d + d), 2 * d
    feed_forward = d * d_ff + d_ff + d_ff * d + d
    return attentions * attention + feed_forward + (attentions + 1) * norm


register(
    "ex8_parameters",
    reference=_parameters,
    inputs=lambda: [(4, 16, False), (64, 256, True), (512, 2048, True), (8, 6, False)],
    hint="Four matrices and their biases for each attention; two matrices and their "
    "biases; a gain and a bias with D components for each norm.",
    mistakes=wrong(
        lambda d, d_ff, decoder: (
            _parameters(d, d_ff, decoder) - (3 if decoder else 2) * 2 * d
        ),
        "The norms have parameters too: a gain and a bias, D each.",
        lambda d, d_ff, decoder: _parameters(d, d_ff),
        "A decoder layer has two attentions and three norms.",
        lambda d, d_ff, decoder: (
            _parameters(d, d_ff, decoder) - (8 if decoder else 4) * d - d_ff - d
        ),
        "The linear maps have biases.",
        lambda d, d_ff, decoder: (
            _parameters(d, d_ff, decoder) - (2 * d if decoder else 0)
        ),
        "A decoder layer has three sublayers, and a norm for each.",
    ),
)
