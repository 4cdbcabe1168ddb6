"""Exercises of chapter 11."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong

register(
    "ex11_cheaper",
    reference="adf",
    hint="Divide every cost by n d²; then n and d enter as n/d alone, here 1/8.",
    mistakes=wrong(
        "abcdef",
        "Count the four projections: 4 n d² in all.",
        "abcdf",
        "A GRU has three maps of the input and three of the state.",
        "abdf",
        "A GRU has three maps of the input and three of the state.",
        "af",
        "A convolution of width 3 has three matrices, one less than four.",
        "ad",
        "A separable convolution has a single matrix d × d.",
        "f",
        "A plain recurrent layer has two matrices, self-attention four.",
        "bce",
        "These are the more expensive ones.",
    ),
)


def _layers(n: int, k: int, dilated: bool) -> int:
    layers, seen = 0, 1
    while seen < n:
        seen = seen * k if dilated else seen + k - 1
        layers += 1
    return layers


def _by_logarithm(quotient: Callable[[int, int], float]) -> Callable[..., int]:
    def layers(n: int, k: int, dilated: bool) -> int:
        return math.ceil(quotient(n, k)) if dilated else _layers(n, k, False)

    return layers


ROUNDING = (
    "Rounding: a quotient of logarithms can be a little too large, such as "
    "math.log(125, 5). Multiply in a loop."
)

register(
    "ex11_layers",
    reference=_layers,
    inputs=lambda: [
        (9, 3, False),
        (10, 3, False),
        (1000, 3, False),
        (1, 5, False),
        (9, 3, True),
        (125, 5, True),
        (243, 3, True),
        (512, 8, True),
        (1000, 3, True),
        (17, 2, True),
    ],
    hint="Without any layer an output depends on one input. What does each layer add?",
    mistakes=wrong(
        lambda n, k, dilated: (
            _layers(n, k, True) if dilated else math.ceil((n - 1) / k)
        ),
        "A layer adds k - 1 positions: one of the k was there already.",
        lambda n, k, dilated: _layers(n, k, True) if dilated else math.ceil(n / k),
        "A layer adds k - 1 positions: one of the k was there already.",
        _by_logarithm(math.log),
        ROUNDING,
        _by_logarithm(lambda n, k: math.log2(n) / math.log2(k)),
        ROUNDING,
        _by_logarithm(lambda n, k: math.log10(n) / math.log10(k)),
        ROUNDING,
        lambda n, k, dilated: _layers(n, k, False),
        "With growing dilations each layer multiplies the receptive field by k.",
        lambda n, k, dilated: _layers(n, k, True) if dilated else (n - 1) // (k - 1),
        "Round up: the rest needs a layer, too.",
    ),
)


def _dilated(
    x: Tensor, weight: Tensor, dilation: int, before: int, after: int
) -> Tensor:
    padded = F.pad(x.mT, (before, after))
    return F.conv1d(padded, weight, dilation=dilation).mT


def _padding(weight: Tensor, dilation: int) -> int:
    return (weight.shape[-1] - 1) * dilation


register(
    "ex11_future",
    reference=lambda x, w, step: _dilated(x, w, step, _padding(w, step), 0),
    inputs=lambda: draw_inputs(  # x, (B, n, D), kernels, (D, D, k), and a dilation
        ((1, 7, 2), (2, 2, 3), 1), ((2, 9, 2), (2, 2, 3), 2), ((2, 11, 4), (4, 4, 5), 2)
    ),
    hint="Change the last token of x: which outputs move? Where are the zeros added?",
    mistakes=wrong(
        lambda x, w, step: _dilated(
            x, w, step, _padding(w, step) // 2, _padding(w, step) // 2
        ),
        "Each position still sees later ones: all zeros belong in front.",
        lambda x, w, step: _dilated(x, w, step, 0, _padding(w, step)),
        "Now it sees only the future: the zeros belong in front.",
        lambda x, w, step: _dilated(x, w, 1, _padding(w, 1), 0),
        "The dilation is gone.",
    ),
)
