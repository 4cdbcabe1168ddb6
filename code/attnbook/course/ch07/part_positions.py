"""Sinusoidal positions: ``sinusoids(n, d)`` and ``PositionalEncoding(d_model)``."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    drawn,
    expect_close,
    expect_gradients,
    expect_no_loop,
    expect_shape,
    operations,
)
from attnbook.nn.positions import SinusoidalPositions, sinusoids

RULE = "sin(p ω_i) at feature 2i and cos(p ω_i) at 2i + 1"


def formula(n: int, d: int) -> Tensor:
    """Section 3.5 of the paper, number by number."""
    rows = []
    for p in range(n):
        angles = [p / 10_000 ** (2 * (m // 2) / d) for m in range(d)]
        row = [math.cos(a) if m % 2 else math.sin(a) for m, a in enumerate(angles)]
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


def module(encoding: type, d: int) -> nn.Module:
    """The reader's module in float64."""
    made = encoding(d)
    if not isinstance(made, nn.Module):
        raise Wrong("PositionalEncoding should be an nn.Module.")
    return made.double().eval()


def shapes(table: Callable, encoding: type) -> None:
    """The table, and the vectors with their positions."""
    expect_shape(table(7, 4), (7, 4), "sinusoids(7, 4)", "(n, d)")
    expect_shape(table(1, 6), (1, 6), "sinusoids(1, 6)", "(n, d)")
    (x,) = drawn(0, (2, 5, 6))
    expect_shape(module(encoding, 6)(x), (2, 5, 6), "the output", "(B, T, D)")


def values(table: Callable, encoding: type) -> None:
    """The formula, from position 0 on."""
    for n, d in ((6, 8), (40, 6), (3, 2)):
        expect_close(table(n, d), formula(n, d), f"sinusoids({n}, {d})", RULE)


def added(table: Callable, encoding: type) -> None:
    """The module adds them to each sentence, and has nothing to learn."""
    made = module(encoding, 6)
    if any(True for _ in made.parameters()):
        raise Wrong("the module has parameters; sinusoids are not learned.")
    (x,) = drawn(0, (2, 5, 6))
    what = "the output"
    expect_close(
        made(x), x + formula(5, 6), what, "x plus the encoding of its positions"
    )
    (x,) = drawn(1, (1, 70, 6))
    what = "the output for a sentence of 70"
    expect_close(made(x), x + formula(70, 6), what, "x plus the encoding")


def gradients(table: Callable, encoding: type) -> None:
    """They pass through unchanged."""
    (x,) = drawn(0, (2, 5, 6))
    right = x + formula(5, 6)
    expect_gradients(module(encoding, 6)(x), right, {"x": x}, "that of a sum")


def operation_count(table: Callable, encoding: type) -> None:
    """More positions and features."""
    few, many = (
        operations(lambda n=n, d=d: table(n, d)) for n, d in ((3, 4), (30, 40))
    )
    expect_no_loop(few, many, "positions and features")


def _angles(
    n: int, d: int, first: int = 0, power: float = 2, base: float = 1e4
) -> Tensor:
    i = torch.arange((d + 1) // 2, dtype=torch.float64)
    p = torch.arange(first, first + n, dtype=torch.float64)
    return p[:, None] * base ** (-power * i / d)  # (n, d/2)


def _table(angles: Callable = _angles, join: Callable | None = None) -> tuple:
    """A table with other angles, or with sine and cosine in another order."""

    def table(n, d):
        a = angles(n, d)
        if join:
            return join(a.sin(), a.cos())
        return torch.stack([a.sin(), a.cos()], -1).flatten(1)

    return table, SinusoidalPositions


class _Learned(SinusoidalPositions):
    def __init__(self, d_model):
        super().__init__(d_model)
        self.table = nn.Parameter(torch.zeros(d_model))


class _AlongTheBatch(SinusoidalPositions):
    def forward(self, x):
        return x + formula(len(x), x.shape[2])[:, None]


class _Alone(SinusoidalPositions):
    def forward(self, x):
        return formula(x.shape[1], x.shape[2]).expand_as(x) + 0 * x


class _Times(SinusoidalPositions):
    def forward(self, x):
        return x * formula(x.shape[1], x.shape[2])


class _Detached(SinusoidalPositions):
    def forward(self, x):
        return super().forward(x.detach())


class _HalfDetached(SinusoidalPositions):
    def forward(self, x):
        return super().forward(x.detach() / 2 + x / 2)


SHAPES = Stage(
    "shapes",
    "sinusoids is (n, d); the module maps (B, T, D) to (B, T, D)",
    shapes,
    (
        "There are d/2 frequencies, and each gives a sine and a cosine. Which shape "
        "has the product of all positions with all frequencies?",
        "`positions[:, None] * frequencies` is (n, d/2); `torch.stack([….sin(), "
        "….cos()], -1).flatten(1)` is (n, d).",
    ),
    wrong(
        _table(join=lambda sin, cos: sin + cos),
        "You add sine and cosine. Each pair of features holds one of each.",
        _table(join=lambda sin, cos: torch.cat([sin, cos], 0)),
        "You put cosines below the sines; they belong next to each other, in the same "
        "row.",
        _table(join=lambda sin, cos: torch.stack([sin, cos], -1)),
        "The pairs still have an axis of their own: merge the last two axes.",
    ),
)
VALUES = Stage(
    "values",
    f"the table holds {RULE}, from p = 0 on",
    values,
    (
        "Which row must be 0, 1, 0, 1, …? And how does the wavelength change from left "
        "to right?",
        "ω_i = 10000^(-2i/d) for i = 0, 1, …, d/2 - 1; row p holds sin(p ω_0), "
        "cos(p ω_0), sin(p ω_1), cos(p ω_1) and so on.",
    ),
    wrong(
        _table(join=lambda sin, cos: torch.cat([sin, cos], -1)),
        "Yours has all sines first. That works as well, but the paper, and so this "
        "course, puts each cosine next to its sine.",
        _table(join=lambda sin, cos: torch.stack([cos, sin], -1).flatten(1)),
        "Sine and cosine are exchanged: even features are sines.",
        _table(lambda n, d: _angles(n, d, first=1)),
        "Positions are counted from 0.",
        _table(lambda n, d: _angles(n, d, power=1)),
        "Your frequencies fall too slowly: the exponent is -2i/d for pair i.",
        _table(lambda n, d: _angles(n, d, power=4)),
        "Your frequencies fall too fast: with i as the number of the pair, the "
        "exponent is -2i/d.",
        _table(lambda n, d: _angles(n, d, power=-2)),
        "Your frequencies rise: the exponent is negative.",
        _table(lambda n, d: _angles(n, d, power=0)),
        "All your features have the same frequency.",
    ),
)
ADDED = Stage(
    "added to x",
    "the module adds the encoding of positions 0 … T - 1, and learns nothing",
    added,
    (
        "Which axis of x counts the positions?",
        "`x + sinusoids(x.shape[1], x.shape[2])`: (T, D) broadcasts over the batch.",
    ),
    wrong(
        (sinusoids, _Learned),
        "The module should have no nn.Parameter.",
        (sinusoids, _AlongTheBatch),
        "You count along the batch: axis 0 are sentences, axis 1 positions.",
        (sinusoids, _Alone),
        "You return the encoding alone: add it to x.",
        (sinusoids, _Times),
        "You multiply: the encoding is added.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "they pass to x unchanged",
    gradients,
    (
        "The embeddings below must learn. Does a gradient reach x?",
        "Look for `.detach()`, `.data` or `torch.no_grad()` around x.",
    ),
    wrong(
        (sinusoids, _Detached),
        "x is cut off from the gradient.",
        (sinusoids, _HalfDetached),
        "A part of x is cut off from the gradient.",
    ),
)
OPERATION_COUNT = Stage(
    "operation count",
    "more positions or features need no more operations",
    operation_count,
    (
        "A Python loop over positions computes one row after another. Can a product "
        "of a column and a row give all angles?",
        "`torch.arange(n)[:, None] * frequencies` holds the angle of every position "
        "and pair.",
    ),
    wrong(
        (
            lambda n, d: torch.stack([sinusoids(1, d, offset=p)[0] for p in range(n)]),
            SinusoidalPositions,
        ),
        "You loop over the positions: make all angles by one product.",
    ),
)

PART = Part(
    name="positions",
    chapter=7,
    names=("sinusoids", "PositionalEncoding"),
    ours=(sinusoids, SinusoidalPositions),
    stages=(SHAPES, VALUES, ADDED, GRADIENTS, OPERATION_COUNT),
)
