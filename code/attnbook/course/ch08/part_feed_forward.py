"""The position-wise feed-forward network, ``FeedForward(d_model, d_ff)``."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    drawn,
    expect_close,
    expect_gradients,
    expect_parameters,
    expect_shape,
    filled,
)
from attnbook.nn.layers import FeedForward

B, T, D, D_FF = 2, 3, 4, 7
RULE = "max(0, x W_1 + b_1) W_2 + b_2"
PARAMETERS = {
    "W_1.weight": (D_FF, D),
    "W_1.bias": (D_FF,),
    "W_2.weight": (D, D_FF),
    "W_2.bias": (D,),
}


def reference(network: nn.Module, x: Tensor) -> Tensor:
    """Equation 2 of the paper, from the network's own parameters."""
    first, second = network.W_1, network.W_2
    hidden = (x @ first.weight.T + first.bias).clamp(min=0)
    return hidden @ second.weight.T + second.bias


def shapes(model: type) -> None:
    """The parameters, and the output."""
    network = filled(model(D, D_FF))
    expect_parameters(network, PARAMETERS)
    (x,) = drawn(0, (B, T, D))
    expect_shape(network(x), (B, T, D), "the output", "(B, T, D)")


def values(model: type) -> None:
    """The formula."""
    network = filled(model(D, D_FF))
    (x,) = drawn(0, (B, T, D))
    expect_close(network(x), reference(network, x), "the output", RULE)


def gradients(model: type) -> None:
    """With respect to the input and to every parameter."""
    network = filled(model(D, D_FF))
    (x,) = drawn(0, (B, T, D))
    named = {"x": x} | {f"`{n}`": p for n, p in network.named_parameters()}
    right = reference(network, x)
    expect_gradients(network(x), right, named, f"that of {RULE}")


class _Narrow(FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_model)


class _NoBias(FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model, bias=False)


class _NoReLU(FeedForward):
    def forward(self, x):
        return self.W_2(self.W_1(x))


class _Gelu(FeedForward):
    def forward(self, x):
        return self.W_2(F.gelu(self.W_1(x)))


class _ReLULast(FeedForward):
    def forward(self, x):
        return self.W_2(self.W_1(x)).relu()


class _Residual(FeedForward):
    def forward(self, x):
        return x + super().forward(x)


class _Detached(FeedForward):
    def forward(self, x):
        return self.W_2(self.W_1(x).relu().detach())


SHAPES = Stage(
    "shapes",
    "W_1 maps D → d_ff, W_2 maps d_ff → D; the output is (B, T, D)",
    shapes,
    (
        "Which of the two layers has the wide output?",
        "`self.W_1 = nn.Linear(d_model, d_ff)` and `self.W_2 = nn.Linear(d_ff, "
        "d_model)`.",
    ),
    wrong(
        (_Narrow,),
        "The hidden layer should have d_ff features.",
        (_NoBias,),
        "Both layers have a bias, as nn.Linear has by default.",
    ),
)
VALUES = Stage(
    "values",
    f"the output equals {RULE}",
    values,
    (
        "What stands between the two matrices, and what would they be without it?",
        "`self.W_2(self.W_1(x).relu())`.",
    ),
    wrong(
        (_NoReLU,),
        "The ReLU is missing: without it the two matrices are as good as one.",
        (_Gelu,),
        "That is a GELU; the paper of 2017 has a ReLU.",
        (_ReLULast,),
        "The ReLU belongs between the two layers, not behind them.",
        (_Residual,),
        "The skip connection belongs to the layer around this network.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the gradients of x and of all parameters equal the formula's",
    gradients,
    (
        "Autograd follows tensor operations. Which of your steps leaves them?",
        "Look for `.detach()`, `.data` or `torch.no_grad()`.",
    ),
    wrong(
        (_Detached,),
        "W_1 cannot learn: its output is detached.",
    ),
)

PART = Part(
    name="FeedForward",
    chapter=8,
    names=("FeedForward",),
    ours=(FeedForward,),
    stages=(SHAPES, VALUES, GRADIENTS),
)
