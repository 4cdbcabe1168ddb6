"""Deep stacks: what joins their blocks, and what is measured in them."""

import pytest
import torch
from compare import close, double, numbers
from torch.nn import functional as F

from attnbook.course.ch08.deep_stacks import (
    CONNECTIONS,
    Stack,
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


def test_token_diversity_by_hand():
    alike = torch.tensor([[[3.0, 1.0], [3.0, 1.0]]])
    opposite = torch.tensor([[[1.0, -2.0], [-1.0, 2.0]]])
    assert token_diversity(alike) == 0
    assert token_diversity(opposite) == 1
    # Places 2 and 0: the mean 1 takes 2 of the 4, and 2 are left.
    assert token_diversity(torch.tensor([[[2.0], [0.0]]])) == 0.5
    # Each sentence has a mean of its own.
    assert token_diversity(torch.cat([alike, -alike])) == 0
