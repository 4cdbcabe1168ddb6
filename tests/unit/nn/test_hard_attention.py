"""Hard attention: the exact gradient, and what its estimates get right and wrong."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.nn.hard_attention import (
    exact_gradient,
    expected_reward,
    gumbel_softmax,
    gumbel_softmax_gradient,
    reinforce,
)

SCORES = torch.tensor([1.0, 2.0, 0.0, 0.5, -1.0], dtype=torch.float64)
REWARDS = torch.tensor([-1.6, -0.4, -2.3, -1.2, -2.3], dtype=torch.float64)
N = 20_000

numbers = st.floats(-5, 5)
positions = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6)


def seeded():
    return torch.Generator().manual_seed(1)


def vectors(pairs):
    return torch.tensor(pairs, dtype=torch.float64).unbind(-1)


def in_standard_errors(samples):
    """How far their mean is from the exact gradient, key by key."""
    error = samples.std(0) / len(samples) ** 0.5
    return ((samples.mean(0) - exact_gradient(SCORES, REWARDS)) / error).abs()


def log_weight_gradients(scores):
    """Row j: the gradient of log a_j by the scores, by autograd."""
    return torch.autograd.functional.jacobian(lambda s: s.log_softmax(-1), scores)


@given(positions)
def test_exact_gradient_is_that_of_the_mean_reward(pairs):
    scores, rewards = vectors(pairs)
    scores.requires_grad_()
    mean = sum(a * r for a, r in zip(scores.softmax(-1), rewards, strict=True))
    (wanted,) = torch.autograd.grad(mean, scores)
    assert torch.allclose(expected_reward(scores, rewards), mean, atol=1e-12)
    assert torch.allclose(exact_gradient(scores, rewards), wanted, atol=1e-12)


@pytest.mark.parametrize("baseline", [0.0, 3.0, expected_reward(SCORES, REWARDS)])
def test_a_reinforce_sample_is_what_the_formula_gives_for_some_position(baseline):
    by_place = (REWARDS - baseline)[:, None] * log_weight_gradients(SCORES)
    samples = reinforce(SCORES, REWARDS, N, baseline, seeded())
    assert samples.shape == (N, 5)
    distances = (samples[:, None] - by_place).norm(dim=-1)  # (N, 5)
    assert distances.min(-1).values.max() < 1e-12
    drawn = distances.argmin(-1).bincount(minlength=5) / N
    weights = SCORES.softmax(-1)
    assert ((drawn - weights).abs() < 4 * (weights / N).sqrt()).all()
    assert (in_standard_errors(samples) < 4).all()


def test_the_mean_reward_as_baseline_lowers_the_variance_and_a_wild_one_raises_it():
    mean = expected_reward(SCORES, REWARDS)
    none, good, wild = (
        reinforce(SCORES, REWARDS, N, b, seeded()).var(0) for b in (0.0, mean, 3.0)
    )
    assert (good < none).all()
    assert (wild > none).all()
    assert none.sum() > 4 * good.sum()


@pytest.mark.parametrize("temperature", [0.1, 1.0, 5.0])
def test_gumbel_softmax_by_its_formula(temperature):
    u = torch.rand(7, 5, generator=seeded(), dtype=torch.float64)
    scores = SCORES.clone().requires_grad_()
    sums = (scores - torch.log(-torch.log(u))) / temperature
    wanted = sums.exp() / sums.exp().sum(-1, keepdim=True)
    weights = gumbel_softmax(SCORES, temperature, 7, seeded())
    assert torch.allclose(weights, wanted, atol=1e-12)
    rows = [
        torch.autograd.grad(y @ REWARDS, scores, retain_graph=True)[0] for y in wanted
    ]
    found = gumbel_softmax_gradient(SCORES, REWARDS, temperature, 7, seeded())
    assert torch.allclose(found, torch.stack(rows), atol=1e-12)
