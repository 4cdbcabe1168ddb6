"""Exercises of chapter 8."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.pages.exercises.checking import register, wrong
from attnbook.pages.exercises.inputs import drawn

register(
    "ex8_who_mixes",
    reference="bd",
    hint="Ask of each: is there a sum or a mean over places in it?",
    mistakes=wrong(
        "abd",
        "LayerNorm takes its mean over the numbers of one place.",
        "bcd",
        "The feed-forward network is applied to each place by itself.",
        "bde",
        "x + f(x) adds to each place what was found for that place.",
        "d",
        "What does BatchNorm take its mean over?",
    ),
)


def _rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gain


def _places_and_gain() -> list[tuple[Tensor, Tensor, float]]:
    cases = ((2, 3, 4), (4,)), ((1, 2, 8), (8,)), ((5, 6), (6,))
    given = [(2 + x, gain, 1e-2) for x, gain in drawn(*cases)]
    return [*given, (torch.zeros(1, 2, 4), torch.ones(4), 1e-5)]


register(
    "ex8_rms_norm",
    reference=_rms_norm,
    inputs=_places_and_gain,
    hint="Divide by the root of the mean square of the D numbers, plus ε; then gain.",
    mistakes=wrong(
        lambda x, gain, eps: torch.nn.functional.layer_norm(
            x, x.shape[-1:], gain, eps=eps
        ),
        "Leave the mean where it is: nothing is subtracted.",
        lambda x, gain, eps: (
            x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * gain
        ),
        "ε stands inside the root.",
        lambda x, gain, eps: (
            x * torch.rsqrt(x.square().sum(-1, keepdim=True) + eps) * gain
        ),
        "The mean of the squares, not their sum.",
        lambda x, gain, eps: x * torch.rsqrt(x.square().mean() + eps) * gain,
        "Each place has a mean of its own: average over the last axis.",
        lambda x, gain, eps: _rms_norm(x, gain**0, eps),
        "The gain is missing.",
    ),
)


Map = Callable[[Tensor], Tensor]


def _normed_stream(x: Tensor, norm: Map, sublayer: Map) -> Tensor:
    x = norm(x)
    return x + sublayer(x)


def _maps() -> list[tuple[Tensor, Map, Map]]:
    [(x, w)] = drawn(((2, 3, 4), (4, 4)))

    def norm(x: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:])

    return [(x, norm, lambda y: (y @ w).relu()), (5 * x, norm, torch.sin)]


register(
    "ex8_pre_norm",
    reference=lambda x, norm, sublayer: x + sublayer(norm(x)),
    inputs=_maps,
    hint="The sub-layer gets the normed x; what is added to is x itself.",
    mistakes=wrong(
        _normed_stream,
        "The normed x is carried on: the way of x is not free.",
        lambda x, norm, sublayer: norm(x + sublayer(x)),
        "This is post-norm.",
        lambda x, norm, sublayer: x + norm(sublayer(x)),
        "The norm stands before the sub-layer, not behind it.",
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
    "biases; a gain and a bias of D numbers for each norm.",
    mistakes=wrong(
        lambda d, d_ff, decoder: (
            _parameters(d, d_ff, decoder) - (3 if decoder else 2) * 2 * d
        ),
        "The norms have parameters too: a gain and a bias, D numbers each.",
        lambda d, d_ff, decoder: _parameters(d, d_ff),
        "A decoder layer has two attentions and three norms.",
        lambda d, d_ff, decoder: (
            _parameters(d, d_ff, decoder) - (8 if decoder else 4) * d - d_ff - d
        ),
        "The linear maps have biases.",
        lambda d, d_ff, decoder: (
            _parameters(d, d_ff, decoder) - (2 * d if decoder else 0)
        ),
        "A decoder layer has three sub-layers, and a norm for each.",
    ),
)


def _kept(p: float, n_layers: int, sublayers: int) -> float:
    return (1 - p) ** (n_layers * sublayers)


register(
    "ex8_kept",
    reference=_kept,
    inputs=lambda: [(0.1, 6, 2), (0.3, 1, 2), (0.1, 6, 3), (0.0, 4, 2), (0.5, 1, 1)],
    hint="It is kept with probability 1 - p at each dropout, and each is independent.",
    mistakes=wrong(
        lambda p, n_layers, sublayers: (1 - p) ** n_layers,
        "There is a dropout after every sub-layer.",
        lambda p, n_layers, sublayers: p ** (n_layers * sublayers),
        "p is the share that is dropped.",
        lambda p, n_layers, sublayers: 1 - _kept(p, n_layers, sublayers),
        "This is the probability that it was dropped at least once.",
        lambda p, n_layers, sublayers: 1 - p * n_layers * sublayers,
        "Probabilities of independent events are multiplied.",
    ),
)
