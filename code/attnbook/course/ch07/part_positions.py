"""Sinusoidal positions: ``sinusoids(n, d)`` and ``PositionalEncoding(d_model)``."""

from collections.abc import Callable

import torch
from torch import nn

from attnbook.course.kit.exercises import by_formula, expect
from attnbook.course.kit.exercises.stages import Part, Wrong, draw_leaves
from attnbook.nn import positions

RULE = "sin(p ω_i) at feature 2i and cos(p ω_i) at 2i + 1"


def sinusoids(n, d):
    i = torch.arange(d // 2)
    angles = torch.arange(n)[:, None] * 10_000 ** (-2 * i / d)
    sin, cos = angles.sin(), angles.cos()
    return torch.stack([sin, cos], -1).flatten(1)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model):
        super().__init__()

    def forward(self, x):
        return x + sinusoids(x.shape[1], x.shape[2]).to(x)


PART = Part(
    "positions",
    7,
    (positions.sinusoids, positions.SinusoidalPositions),
    (sinusoids, PositionalEncoding),
)


def make(encoding: type, d: int) -> nn.Module:
    """The reader's module in float64."""
    made = encoding(d)
    if not isinstance(made, nn.Module):
        raise Wrong("PositionalEncoding should be an nn.Module.")
    return made.double().eval()


@PART.stage("sinusoids is (n, d)")
def shapes(table: Callable, encoding: type) -> None:
    """There are d/2 frequencies, and each gives a sine and a cosine. Which shape has
    the product of all positions with all frequencies?

    `positions[:, None] * frequencies` is (n, d/2); `torch.stack([….sin(), ….cos()],
    -1).flatten(1)` is (n, d).

    torch.stack([sin, cos], -1).flatten(1) => sin + cos
        You add sine and cosine. Each pair of features holds one of each.
    torch.stack([sin, cos], -1).flatten(1) => torch.cat([sin, cos], 0)
        You put cosines below the sines; they belong next to each other, in the same
        row.
    .flatten(1) =>
        The pairs still have an axis of their own: merge the last two axes.
    """
    expect.shape(table(7, 4), (7, 4), "sinusoids(7, 4)", "(n, d)")
    expect.shape(table(1, 6), (1, 6), "sinusoids(1, 6)", "(n, d)")


@PART.stage(f"the table holds {RULE}, from p = 0 on")
def values(table: Callable, encoding: type) -> None:
    """Which row must be 0, 1, 0, 1, …? And how does the wavelength change from left to
    right?

    ω_i = 10000^(-2i/d) for i = 0, 1, …, d/2 - 1; row p holds sin(p ω_0), cos(p ω_0),
    sin(p ω_1), cos(p ω_1) and so on.

    torch.stack([sin, cos], -1).flatten(1) => torch.cat([sin, cos], -1)
        Yours has all sines first. That works as well, but the paper, and so this
        course, puts each cosine next to its sine.
    [sin, cos] => [cos, sin]
        Sine and cosine are exchanged: even features are sines.
    torch.arange(n) => torch.arange(1, n + 1)
        Positions are counted from 0.
    -2 * i => -1 * i
        Your frequencies fall too slowly: the exponent is -2i/d for pair i.
    -2 * i => -4 * i
        Your frequencies fall too fast: with i as the number of the pair, the exponent
        is -2i/d.
    -2 * i => 2 * i
        Your frequencies rise: the exponent is negative.
    -2 * i => 0 * i
        All your features have the same frequency.
    """
    # Small angles first: large ones, in float32, differ with the order of operations.
    for n, d in ((2, 4), (40, 6), (3, 2)):
        expect.close(
            table(n, d), by_formula.sinusoids(n, d), f"sinusoids({n}, {d})", RULE
        )


@PART.stage("the module adds the encoding of positions 0 … T - 1, and learns nothing")
def added_to_x(table: Callable, encoding: type) -> None:
    """Which axis of x counts the positions, and which the features? Both may have any
    length.

    `x + sinusoids(x.shape[1], x.shape[2])`: (T, D) broadcasts over the batch.

    On "parameters to learn": Is your table an nn.Parameter or an nn.Embedding? A tensor
    can be kept by `register_buffer`, or made in `forward`.

    super().__init__() => super().__init__(); self.table = nn.Embedding(100, d_model)
        The module should have no nn.Parameter, at least none that needs a gradient.
    sinusoids(x.shape[1], x.shape[2]) => sinusoids(x.shape[0], x.shape[2])[:, None]
        You count along the batch: axis 0 are sentences, axis 1 positions.
    x + sinusoids => sinusoids
        You return the encoding alone: add it to x.
    x + sinusoids => 0 * x + sinusoids
        You return the encoding alone: add it to x.
    x + sinusoids => x * sinusoids
        You multiply: the encoding is added.
    return x + => x = nn.functional.dropout(x, 0.1, self.training); return x +
        You drop something: the module only adds.
    """
    made = make(encoding, 6)
    if any(parameter.requires_grad for parameter in made.parameters()):
        raise Wrong("the module has parameters to learn; sinusoids are not learned.")
    (x,) = draw_leaves(0, (2, 5, 6))
    rule = "x plus the encoding of its positions"
    expect.shape(made(x), (2, 5, 6), "the output", "(B, T, D)")
    expect.close(made(x), x + by_formula.sinusoids(5, 6), "the output", rule)
    expect.same_in_training(made, x, what="the output")
    (x,) = draw_leaves(1, (1, 70, 6))
    what = "the output for a sentence of 70"
    expect.close(made(x), x + by_formula.sinusoids(70, 6), what, rule)
    (x,) = draw_leaves(2, (2, 3, 4))
    what = "the output of width 4"
    expect.close(make(encoding, 4)(x), x + by_formula.sinusoids(3, 4), what, rule)


@PART.stage("they pass to x unchanged")
def gradients(table: Callable, encoding: type) -> None:
    """The embeddings below must learn. Does a gradient reach x?

    Look for `.detach()`, `.data` or `torch.no_grad()` around x.

    x + sinusoids => x.detach() + sinusoids
        x is cut off from the gradient.
    x + sinusoids => x.detach() / 2 + x / 2 + sinusoids
        A part of x is cut off from the gradient.
    """
    (x,) = draw_leaves(0, (2, 5, 6))
    right = x + by_formula.sinusoids(5, 6)
    expect.gradients(make(encoding, 6)(x), right, "that of a sum", x=x)


@PART.stage("more positions or features need no more calls to PyTorch")
def operation_count(table: Callable, encoding: type) -> None:
    """A loop of calls makes one row, or one column, after another. Can a product of a
    column and a row give all angles?

    `torch.arange(n)[:, None] * frequencies` holds the angle of every position and pair.

    torch.arange(n)[:, None] => torch.stack([torch.tensor([p]) for p in range(n)])
        You loop over the positions: make all angles by one product.
    (-2 * i / d) => torch.stack([-2 * j / d for j in i])
        You loop over the pairs of features: make all angles by one product.
    """
    for over, more in {"positions": (30, 4), "features": (3, 40)}.items():
        expect.no_loop(lambda size: table(*size), (3, 4), more, over)


@PART.stage("the encodings are added where x lies, on a GPU too")
def devices(table: Callable, encoding: type) -> None:
    """
    sinusoids(x.shape[1], x.shape[2]).to(x) => sinusoids(x.shape[1], x.shape[2])
        `sinusoids` makes its table on the CPU, and `+` would meet it there.
    """
    (x,) = draw_leaves(0, (2, 5, 6))
    made = make(encoding, 6)
    expect.same_device(lambda: made(x), x, module=made)
