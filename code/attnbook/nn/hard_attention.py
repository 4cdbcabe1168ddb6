r"""Hard attention: attend to one sampled position, and estimate its gradient.

Soft attention computes a weighted mean of all values, :math:`c = \sum_j a_j v_j`. Hard
attention samples one position j with probability :math:`a_j` and uses :math:`v_j` alone
(Xu et al. 2015, section 4). A reward :math:`r_j` then measures the result, such as the
log-probability of the target token. Training should increase the expected reward,
:math:`\bar r = \sum_j a_j r_j`, but sampling is not differentiable.

This module has the exact gradient of the expected reward with respect to the scores,
and two estimators of it from samples. With five positions the exact gradient is cheap.
A sentence of T tokens that attends to one of S positions at each step has S to the
power of T possible samples: then only estimates are feasible.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from attnbook.core.checks import check_sizes
from attnbook.nn.attention_checks import check_tensors
from attnbook.nn.precision import wide


def expected_reward(scores: Tensor, rewards: Tensor) -> Tensor:
    r"""Expected reward :math:`\bar r = \sum_j a_j r_j` with a = softmax(scores).

    Args:
        scores: One per position, (S,).
        rewards: The reward of each position, (S,).

    Returns:
        A scalar.

    Raises:
        ValueError: If the two are not vectors of one length and one floating type.
    """
    check_score_vectors(scores, rewards)
    mean = wide(scores).softmax(-1) @ wide(rewards)
    return mean.to(scores.dtype)


def exact_gradient(scores: Tensor, rewards: Tensor) -> Tensor:
    r"""Gradient of the expected reward: :math:`a_j (r_j - \bar r)`.

    It equals the gradient of soft attention over the values :math:`r_j`. The two differ
    only if the reward is not linear in the context vector.

    Args:
        scores: One per position, (S,).
        rewards: The reward of each position, (S,).

    Returns:
        The gradient with respect to the scores, (S,).

    Raises:
        ValueError: If the two are not vectors of one length and one floating type.
    """
    exact = wide(scores), wide(rewards)
    mean = expected_reward(*exact)
    return (exact[0].softmax(-1) * (exact[1] - mean)).to(scores.dtype)


def reinforce(
    scores: Tensor,
    rewards: Tensor,
    samples: int,
    baseline: float | Tensor = 0.0,
    generator: Generator | None = None,
) -> Tensor:
    r"""REINFORCE: the estimate :math:`(r_j - b)\,\nabla \log a_j` for a sampled j.

    It is unbiased for any baseline b that does not depend on the sample; b changes its
    variance. Williams 1992; for attention Xu et al. 2015, section 4.1, where b is a
    moving average of rewards.

    Args:
        scores: One per position, (S,).
        rewards: The reward of each position, (S,); only that of the sampled position is
            used.
        samples: Number N of samples.
        baseline: b.
        generator: Source of randomness, on the device of ``scores``.

    Returns:
        One estimate of the gradient with respect to the scores per sample, (N, S).

    Raises:
        ValueError: If the first two are not vectors of one length and one floating
            type, or ``samples`` is not a whole number from 1 on.
    """
    check_score_vectors(scores, rewards)
    check_sizes(samples=samples)
    weights = wide(scores).softmax(-1)  # (S,)
    sampled = torch.multinomial(weights, samples, replacement=True, generator=generator)
    # d log a_j / d score_k is 1 - a_k for k = j, and -a_k otherwise.
    log_gradient = torch.eye(len(scores)).to(weights)[sampled] - weights  # (N, S)
    gradient = (wide(rewards)[sampled] - baseline)[:, None] * log_gradient
    return gradient.to(scores.dtype)


def gumbel_softmax(
    scores: Tensor, temperature: float, samples: int, generator: Generator | None = None
) -> Tensor:
    r"""Sample nearly one-hot weights: softmax of (scores + noise) / temperature.

    With Gumbel noise, :math:`-\log(-\log u)` for u uniform in (0, 1), the largest sum
    is at position j with probability :math:`a_j`. The lower the temperature, the more
    of the weight that position gets. Jang et al. 2017, equations 1 and 2; Maddison et
    al. 2017.

    Args:
        scores: One per position, (S,).
        temperature: Positive.
        samples: Number N of samples.
        generator: Source of randomness, on the device of ``scores``.

    Returns:
        Weights, (N, S); each row is non-negative and sums to 1.

    Raises:
        ValueError: If the scores are not a vector of floating type, the temperature is
            not positive, or ``samples`` is not a whole number from 1 on.
    """
    check_score_vectors(scores, scores)
    check_sizes(samples=samples)
    if not temperature > 0:
        raise ValueError(
            f"temperature is {temperature}; it must be positive: the lower, the nearer "
            "the weights are to one-hot"
        )
    exact = wide(scores)
    u = torch.rand(
        (samples, len(scores)),
        generator=generator,
        dtype=exact.dtype,
        device=scores.device,
    ).clamp_min(torch.finfo(exact.dtype).tiny)  # 0 is drawn once in 2²⁴, its log isn't
    noise = -(-u.log()).log()  # (N, S)
    return ((exact + noise) / temperature).softmax(-1).to(scores.dtype)


def gumbel_softmax_gradient(
    scores: Tensor,
    rewards: Tensor,
    temperature: float,
    samples: int,
    generator: Generator | None = None,
) -> Tensor:
    r"""Estimate the gradient through Gumbel-softmax weights y: they are differentiable.

    For the reward :math:`\sum_j y_j r_j` it is :math:`y_j (r_j - \sum_k y_k r_k) /
    \tau`. It is biased; the bias vanishes as the temperature tau goes to 0, where the
    variance grows without bound. A reward that is not linear in the context vector adds
    a bias of its own.

    Args:
        scores: One per position, (S,).
        rewards: The reward of each position, (S,).
        temperature: tau, positive.
        samples: Number N of samples.
        generator: Source of randomness, on the device of ``scores``.

    Returns:
        One estimate of the gradient with respect to the scores per sample, (N, S).

    Raises:
        ValueError: As in :func:`reinforce` and :func:`gumbel_softmax`.
    """
    check_score_vectors(scores, rewards)
    y = gumbel_softmax(wide(scores), temperature, samples, generator)  # (N, S)
    mixed = y @ wide(rewards)  # (N,)
    return (y * (rewards - mixed[:, None]) / temperature).to(scores.dtype)


def check_score_vectors(scores: Tensor, rewards: Tensor) -> None:
    """Raise a ValueError unless both are vectors of one length and floating type."""
    check_tensors(scores=scores, rewards=rewards)
    if scores.dim() != 1 or scores.shape != rewards.shape or not len(scores):
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}, rewards {tuple(rewards.shape)}; "
            "both must be (S,), one number for each of at least one position"
        )
    if not scores.dtype.is_floating_point or scores.dtype != rewards.dtype:
        raise ValueError(
            f"scores are of type {scores.dtype}, rewards of {rewards.dtype}; both must "
            "be of one floating type: tensor.double() makes one"
        )
