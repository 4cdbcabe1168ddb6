"""Deep stacks: what joins their blocks, what is measured in them, Adam's first step."""

import pytest
import torch
from compare import close, double, numbers, randomise
from torch import nn
from torch.nn import functional as F

from attnbook.course.ch08.deep_stacks import (
    CONNECTIONS,
    Stack,
    gradient_norms,
    gradient_through_values,
    token_diversity,
)
from attnbook.course.ch08.lab import first_adam_step
from attnbook.nn.multi_head import split_heads


def by_formula(connection, f, x):
    def norm(x):
        return F.layer_norm(x, x.shape[-1:])

    return {
        "none": lambda: f(x),
        "residual": lambda: x + f(x),
        "post-norm": lambda: norm(x + f(x)),
        "pre-norm": lambda: x + f(norm(x)),
    }[connection]()


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_blocks_are_joined_as_the_formula_says(connection):
    stack = double(Stack, connection, n_blocks=3, d_model=8, n_heads=2)
    (x,) = numbers(0, (2, 5, 8))
    states = stack(x)
    assert len(states) == 4
    assert states[0] is x
    for block, before, after in zip(stack.blocks, states, states[1:], strict=False):
        close(after, by_formula(connection, lambda y, b=block: b(y, y, y), before))


def test_an_unknown_connection_is_named():
    with pytest.raises(ValueError, match="choose one of none, residual"):
        Stack("both")


def test_weight_scale_multiplies_the_weights():
    full, half = (
        double(Stack, "residual", 2, 8, 2, weight_scale=scale) for scale in (1.0, 0.5)
    )
    for one, other in zip(
        full.blocks.parameters(), half.blocks.parameters(), strict=True
    ):
        close(other, 0.5 * one)


def test_gradients_are_those_of_finite_differences():
    """The gradient before block k, along some v, is the slope of what follows it."""
    stack = double(Stack, "post-norm", n_blocks=2, d_model=4, n_heads=2)
    x, direction = (t.detach() for t in numbers(1, (1, 2, 4), (1, 2, 4)))
    found = gradient_norms(stack, x, direction)
    assert found[-1] == pytest.approx(1)

    def end(state, first):
        tail = double(Stack, "post-norm", 2, 4, 2)
        tail.blocks, tail.norms = tail.blocks[first:], tail.norms[first:]
        return (tail(state)[-1] * direction).sum().item()

    for first in range(2):
        state = stack(x)[first].detach()
        slopes = []
        for step in 1e-6 * torch.eye(8, dtype=torch.float64).view(8, 1, 2, 4):
            slopes.append((end(state + step, first) - end(state - step, first)) / 2e-6)
        wanted = torch.tensor(slopes).norm() / direction.norm()
        assert found[first] == pytest.approx(wanted.item(), rel=1e-6)


def test_token_diversity_by_hand():
    alike = torch.tensor([[[3.0, 1.0], [3.0, 1.0]]])
    opposite = torch.tensor([[[1.0, -2.0], [-1.0, 2.0]]])
    assert token_diversity(alike) == 0
    assert token_diversity(opposite) == 1
    # Places 2 and 0: the mean 1 takes 2 of the 4, and 2 are left.
    assert token_diversity(torch.tensor([[[2.0], [0.0]]])) == 0.5
    # Each sentence has a mean of its own.
    assert token_diversity(torch.cat([alike, -alike])) == 0


def fixed(block, x):
    """The formula, with weights that are mere numbers."""
    q, k, v = (split_heads(W(x), 2) for W in (block.W_Q, block.W_K, block.W_V))
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1).detach()
    return block.W_O((weights @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("no_queries", [True, False])
def test_fixed_weights_cut_the_path_through_the_scores(no_queries):
    """If the scores are 0 for every input, there is nothing to cut."""
    stack = randomise(double(Stack, "residual", 3, d_model=8, n_heads=2))
    if no_queries:
        for block in stack.blocks:
            nn.init.zeros_(block.W_Q.weight)
            nn.init.zeros_(block.W_Q.bias)
    x, direction = torch.randn(2, 2, 5, 8, dtype=torch.float64)
    start = z = x.clone().requires_grad_()
    for block in stack.blocks:
        z = z + fixed(block, z)
    (wanted,) = torch.autograd.grad(z, start, direction)
    found = gradient_through_values(stack.blocks, x, direction)
    assert found == pytest.approx(wanted.norm().item())
    everything = gradient_norms(stack, x, direction)[0] * direction.norm().item()
    assert (found == pytest.approx(everything)) == no_queries


def test_adams_first_step_is_the_learning_rate_whatever_the_gradient():
    """m / √v is the sign of the gradient, up to Adam's ε of 10⁻⁸."""
    parameters = [nn.Parameter(torch.tensor([1.0, -2.0])), nn.Parameter(torch.ones(2))]
    loss = (parameters[0] * torch.tensor([3.0, 4.0])).sum() + 1e-3 * parameters[1][0]
    gradients, moved = first_adam_step(loss, parameters, learning_rate=0.01)
    assert gradients == pytest.approx([5, 1e-3])
    assert moved == pytest.approx([0.01, 0.01 / 2**0.5], rel=1e-4)
