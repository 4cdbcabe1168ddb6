"""Gradients by their path, against autograd without that path; Adam's first step."""

import pytest
import torch
from compare import double, randomise
from torch import nn

from attnbook.analysis.gradients import first_adam_step, gradient_through_values
from attnbook.nn.multi_head import split_heads
from attnbook.toy.deep_stacks import Stack, gradient_norms


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
    assert parameters[0].tolist() == pytest.approx([0.99, -2.01])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sizes_of_16_bit_parameters_do_not_vanish(dtype):
    """The square of a step of 1e-5 is 0 in float16, that of 3e4 is infinite."""
    weight = nn.Parameter(torch.zeros(400, dtype=dtype))
    loss = weight.float().sum()
    (gradient,), (moved,) = first_adam_step(loss, [weight], 1e-5)
    assert gradient == pytest.approx(20, rel=0.01)
    assert moved == pytest.approx(1e-5, rel=0.01)
    block = Stack("post-norm", 1, 8, 2).to(dtype).blocks[:0]
    x = torch.zeros(1, 100, 8, dtype=dtype)
    found = gradient_through_values(block, x, torch.full_like(x, 3e4))
    assert found == pytest.approx(3e4 * 800**0.5, rel=0.01)
