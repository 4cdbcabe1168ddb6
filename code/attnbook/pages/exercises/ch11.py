"""Exercises of chapter 11."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.nn.positions import shift_matrix, sinusoids
from attnbook.pages.exercises.checking import register, wrong
from attnbook.pages.exercises.inputs import drawn

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
        "These are the dearer ones.",
    ),
)


def _layers(n: int, k: int, grows: bool) -> int:
    layers, seen = 0, 1
    while seen < n:
        seen = seen * k if grows else seen + k - 1
        layers += 1
    return layers


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
        (1000, 3, True),
        (17, 2, True),
    ],
    hint="After no layer a place sees one place, itself. What does a layer add?",
    mistakes=wrong(
        lambda n, k, grows: _layers(n, k, True) if grows else math.ceil((n - 1) / k),
        "A layer adds k - 1 places: one of the k was there already.",
        lambda n, k, grows: (
            math.ceil(math.log(n, k)) if grows else _layers(n, k, False)
        ),
        "Rounding: math.log(125, 5) is a little more than 3. Multiply in a loop.",
        lambda n, k, grows: _layers(n, k, False),
        "With growing dilations each layer multiplies what is seen by k.",
        lambda n, k, grows: _layers(n, k, True) if grows else (n - 1) // (k - 1),
        "Round up: what is left over needs a layer as well.",
    ),
)

register(
    "ex11_half",
    reference=lambda d, d_ff: 2 * d + d_ff,
    inputs=lambda: [(512, 2048), (64, 128), (100, 100)],
    hint="Set 2 n² d equal to all the rest of the layer, and divide by 2 n d.",
    mistakes=wrong(
        lambda d, d_ff: 2 * d + 2 * d_ff,
        "The network has two matrices: 2 n d d_ff in all.",
        lambda d, d_ff: d_ff,
        "The four projections are missing: 4 n d².",
        lambda d, d_ff: 2 * d,
        "The feed-forward network is missing: 2 n d d_ff.",
        lambda d, d_ff: 4 * d + 2 * d_ff,
        "Scores and mixing are two products: 2 n² d.",
        lambda d, d_ff: 6 * d,
        "That is right for d_ff = 4 d alone.",
    ),
)


def _dilated(
    x: Tensor, weight: Tensor, dilation: int, before: int, after: int
) -> Tensor:
    padded = F.pad(x.mT, (before, after))
    return F.conv1d(padded, weight, dilation=dilation).mT


def _reaches_back(weight: Tensor, dilation: int) -> int:
    return (weight.shape[-1] - 1) * dilation


register(
    "ex11_future",
    reference=lambda x, w, step: _dilated(x, w, step, _reaches_back(w, step), 0),
    inputs=lambda: drawn(  # x, (B, n, D), kernels, (D, D, k), and a dilation
        ((1, 7, 2), (2, 2, 3), 1), ((2, 9, 2), (2, 2, 3), 2), ((2, 11, 4), (4, 4, 5), 2)
    ),
    hint="Change the last place of x: which outputs move? Where do the zeros stand?",
    mistakes=wrong(
        lambda x, w, step: _dilated(
            x, w, step, _reaches_back(w, step) // 2, _reaches_back(w, step) // 2
        ),
        "Each place still sees later ones: the zeros must all stand in front.",
        lambda x, w, step: _dilated(x, w, step, 0, _reaches_back(w, step)),
        "Now it sees the future alone: the zeros must stand in front.",
        lambda x, w, step: _dilated(x, w, 1, _reaches_back(w, 1), 0),
        "The dilation is gone.",
    ),
)


def _look_back(codes: Tensor, k: int, factor: float = 1000) -> Tensor:
    d = codes.shape[1]
    queries = factor * codes @ shift_matrix(-k, d, codes.dtype).T
    return (queries @ codes.T / math.sqrt(d)).softmax(-1)


register(
    "ex11_look_back",
    reference=_look_back,
    inputs=lambda: [
        (sinusoids(n, d, dtype=torch.float64), k)
        for n, d, k in ((8, 16, 1), (12, 64, 3), (9, 32, 0))
    ],
    hint="The query is 1000 R₋ₖ PE(p); with codes as rows, codes @ R.T.",
    mistakes=wrong(
        lambda codes, k: _look_back(codes, -k),
        "Your head looks k places ahead: R₋ₖ turns a code back.",
        lambda codes, k: _look_back(codes, k, factor=1),
        "The scores are too small to single out a place: multiply by 1000.",
        lambda codes, k: _look_back(codes, k).T,
        "Queries are rows: each row must sum to 1.",
    ),
)
