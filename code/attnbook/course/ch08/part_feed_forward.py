"""The position-wise feed-forward network, ``FeedForward(d_model, d_ff)``."""

from torch import nn
from torch.nn import functional as F

from attnbook.course.kit.exercises import by_formula, expect
from attnbook.course.kit.exercises.stages import Part, draw_leaves, fill
from attnbook.nn import layers

B, T, D, D_FF = 2, 3, 4, 7
RULE = "max(0, x W_1 + b_1) W_2 + b_2"
PARAMETERS = {
    "W_1.weight": (D_FF, D),
    "W_1.bias": (D_FF,),
    "W_2.weight": (D, D_FF),
    "W_2.bias": (D,),
}


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.W_2(F.relu(self.W_1(x)))


PART = Part("FeedForward", 8, (layers.FeedForward,), (FeedForward,))


@PART.stage("W_1 maps D → d_ff, W_2 maps d_ff → D; the output is (B, T, D)")
def shapes(model: type) -> None:
    """Which of the two layers has the wide output?

    `self.W_1 = nn.Linear(d_model, d_ff)` and `self.W_2 = nn.Linear(d_ff, d_model)`.

    nn.Linear(d_model, d_ff) => nn.Linear(d_model, d_model)
        The hidden layer should have d_ff features.
    nn.Linear(d_ff, d_model) => nn.Linear(d_ff, d_model, bias=False)
        Both layers have a bias, as nn.Linear has by default.
    """
    network = fill(model(D, D_FF))
    expect.parameters(network, PARAMETERS)
    (x,) = draw_leaves(0, (B, T, D))
    expect.shape(network(x), (B, T, D), "the output", "(B, T, D)")


@PART.stage(f"the output equals {RULE}")
def values(model: type) -> None:
    """What stands between the two matrices, and what would they be without it?

    `self.W_2(self.W_1(x).relu())`.

    F.relu( => (
        The ReLU is missing: without it the two matrices are as good as one.
    F.relu( => F.gelu(
        That is a GELU; the paper of 2017 has a ReLU.
    self.W_2(F.relu(self.W_1(x))) => F.relu(self.W_2(self.W_1(x)))
        The ReLU belongs between the two layers, not behind them.
    return self.W_2 => return x + self.W_2
        The skip connection belongs to the layer around this network.
    F.relu(self.W_1(x)) => F.dropout(F.relu(self.W_1(x)), 0.1, self.training)
        There is no dropout in this network: the layer around it drops its output.
    """
    network = fill(model(D, D_FF))
    (x,) = draw_leaves(0, (B, T, D))
    expect.close(network(x), by_formula.feed_forward(x, network), "the output", RULE)
    expect.same_in_training(network, x, what="the output")


@PART.stage("the gradients of x and of all parameters equal the formula's")
def gradients(model: type) -> None:
    """Autograd follows tensor operations. Which of your steps leaves them?

    Look for `.detach()`, `.data` or `torch.no_grad()`.

    self.W_1(x) => self.W_1(x).detach()
        W_1 cannot learn: its output is detached.
    """
    network = fill(model(D, D_FF))
    (x,) = draw_leaves(0, (B, T, D))
    right = by_formula.feed_forward(x, network)
    expect.gradients(network(x), right, f"that of {RULE}", network, x=x)
