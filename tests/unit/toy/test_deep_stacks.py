"""Deep stacks: what joins their blocks, and what is measured in them."""

import pytest
import torch
from compare import close, double, numbers
from torch.nn import functional as F

from attnbook.toy.deep_stacks import (
    CONNECTIONS,
    Stack,
    gradient_norms,
    token_diversity,
)


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


def test_weight_scale_multiplies_the_weights():
    full, half = (
        double(Stack, "residual", 2, 8, 2, weight_scale=scale) for scale in (1.0, 0.5)
    )
    for one, other in zip(
        full.blocks.parameters(), half.blocks.parameters(), strict=True
    ):
        close(other, 0.5 * one)


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_gradients_are_those_of_finite_differences(connection):
    """The gradient before block k, along some v, is the slope of what follows it."""
    stack = double(Stack, connection, n_blocks=3, d_model=4, n_heads=2)
    x, direction = (t.detach() for t in numbers(1, (1, 3, 4), (1, 3, 4)))
    found = gradient_norms(stack, x, direction)
    assert found[-1] == pytest.approx(1)

    def end(x, first):
        tail = double(Stack, connection, 3, 4, 2)
        tail.blocks, tail.norms = tail.blocks[first:], tail.norms[first:]
        return (tail(x)[-1] * direction).sum()

    for first in range(3):
        state = stack(x)[first].detach()
        slopes = torch.zeros_like(state)
        for position in torch.cartesian_prod(torch.arange(3), torch.arange(4)).tolist():
            step = torch.zeros_like(state)
            step[0, position[0], position[1]] = 1e-6
            difference = end(state + step, first) - end(state - step, first)
            slopes[0, position[0], position[1]] = difference.item() / 2e-6
        assert found[first] == pytest.approx(
            (slopes.norm() / direction.norm()).item(), rel=1e-6
        )


def test_token_diversity_by_hand():
    alike = torch.tensor([[[3.0, 1.0], [3.0, 1.0]]])
    opposite = torch.tensor([[[1.0, -2.0], [-1.0, 2.0]]])
    assert token_diversity(alike) == 0
    assert token_diversity(opposite) == 1
    # Places 2 and 0: the mean 1 takes 2 of the 4, and 2 are left.
    assert token_diversity(torch.tensor([[[2.0], [0.0]]])) == 0.5
    # Each sentence has a mean of its own.
    assert token_diversity(torch.cat([alike, -alike])) == 0


def test_an_unknown_connection_is_named():
    with pytest.raises(ValueError, match="choose one of none, residual"):
        Stack("both")
    with pytest.raises(ValueError, match="n_blocks is 0"):
        Stack("none", n_blocks=0)
