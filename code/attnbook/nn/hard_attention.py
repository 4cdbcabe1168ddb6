r"""Hard attention: look at one place, drawn at random. How does a gradient get through?

Soft attention reads the mean of all values, :math:`c = \sum_j a_j v_j`. Hard attention
draws one place j with probability :math:`a_j` and reads :math:`v_j` alone (Xu et al.
2015, section 4). A reward :math:`r_j` then says how well that went, such as the log
probability of the right word. Training should raise the mean reward,
:math:`\bar r = \sum_j a_j r_j`, but a draw has no derivative.

Here are the exact gradient of that mean by the scores, and two ways to estimate it from
draws. With five places the exact one is cheap. A sentence of T words that looks at one
of S places for each has S to the power of T ways to look: then only draws are left.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from attnbook.core.checks import check_sizes


def expected_reward(scores: Tensor, rewards: Tensor) -> Tensor:
    r"""The mean reward :math:`\bar r = \sum_j a_j r_j` with a = softmax(scores).

    Args:
        scores: One a place, (S,).
        rewards: The reward of looking there, (S,).

    Returns:
        A single number.

    Raises:
        ValueError: If the two are not vectors of one length and one floating type.
    """
    check_places(scores, rewards)
    return scores.softmax(-1) @ rewards


def exact_gradient(scores: Tensor, rewards: Tensor) -> Tensor:
    r"""The gradient of the mean reward: :math:`a_j (r_j - \bar r)`.

    It is the gradient of soft attention over the values :math:`r_j`. The two differ
    only where the reward is not linear in what is read.

    Args:
        scores: One a place, (S,).
        rewards: The reward of looking there, (S,).

    Returns:
        The gradient by the scores, (S,).

    Raises:
        ValueError: If the two are not vectors of one length and one floating type.
    """
    mean = expected_reward(scores, rewards)
    return scores.softmax(-1) * (rewards - mean)


def reinforce(
    scores: Tensor,
    rewards: Tensor,
    samples: int,
    baseline: float | Tensor = 0.0,
    generator: Generator | None = None,
) -> Tensor:
    r"""Estimate the gradient from draws: :math:`(r_j - b)\,\nabla \log a_j`, j drawn.

    The mean over draws is the exact gradient for any baseline b that does not depend on
    the draw; b changes how far a single draw strays. Williams 1992 (REINFORCE); for
    attention Xu et al. 2015, section 4.1, where b is a moving average of rewards.

    Args:
        scores: One a place, (S,).
        rewards: The reward of looking there, (S,); only that of the place drawn is
            used.
        samples: Number N of draws.
        baseline: b.
        generator: Where the draws come from.

    Returns:
        One estimate of the gradient by the scores a draw, (N, S).

    Raises:
        ValueError: If the first two are not vectors of one length and one floating
            type, or ``samples`` is not a whole number from 1 on.
    """
    check_places(scores, rewards)
    check_sizes(samples=samples)
    weights = scores.softmax(-1)  # (S,)
    drawn = torch.multinomial(weights, samples, replacement=True, generator=generator)
    # The derivative of log a_j by score k is 1 - a_k for k = j, and -a_k otherwise.
    by_scores = torch.eye(len(scores)).to(scores)[drawn] - weights  # (N, S)
    return (rewards[drawn] - baseline)[:, None] * by_scores


def gumbel_softmax(
    scores: Tensor, temperature: float, samples: int, generator: Generator | None = None
) -> Tensor:
    r"""Draw weights that are almost one-hot: softmax of (scores + noise) / temperature.

    With Gumbel noise, :math:`-\log(-\log u)` for u uniform between 0 and 1, the largest
    of the sums stands at place j with probability :math:`a_j`. The lower the
    temperature, the more of the weight that place gets. Jang et al. 2017, equations 1
    and 2; Maddison et al. 2017.

    Args:
        scores: One a place, (S,).
        temperature: Positive.
        samples: Number N of draws.
        generator: Where the draws come from.

    Returns:
        Weights, (N, S); each row is not negative and sums to 1.

    Raises:
        ValueError: If the scores are not a vector of floating type, the temperature is
            not positive, or ``samples`` is not a whole number from 1 on.
    """
    check_places(scores, scores)
    check_sizes(samples=samples)
    if not temperature > 0:
        raise ValueError(
            f"temperature is {temperature}; it must be positive: the lower, the nearer "
            "to a draw of one place"
        )
    u = torch.rand(samples, len(scores), generator=generator, dtype=scores.dtype)
    noise = -(-u.log()).log()  # (N, S)
    return ((scores + noise) / temperature).softmax(-1)


def gumbel_softmax_gradient(
    scores: Tensor,
    rewards: Tensor,
    temperature: float,
    samples: int,
    generator: Generator | None = None,
) -> Tensor:
    r"""Estimate the gradient through almost one-hot weights y, which can be derived.

    For the reward :math:`\sum_j y_j r_j` it is :math:`y_j (r_j - \sum_k y_k r_k) /
    \tau`. Its mean is the exact gradient only as the temperature tau goes to 0, where a
    single draw strays without bound. A reward that is not linear in what is read adds
    a bias of its own.

    Args:
        scores: One a place, (S,).
        rewards: The reward of looking there, (S,).
        temperature: tau, positive.
        samples: Number N of draws.
        generator: Where the draws come from.

    Returns:
        One estimate of the gradient by the scores a draw, (N, S).

    Raises:
        ValueError: As :func:`reinforce` and :func:`gumbel_softmax`.
    """
    check_places(scores, rewards)
    y = gumbel_softmax(scores, temperature, samples, generator)  # (N, S)
    mixed = y @ rewards  # (N,)
    return y * (rewards - mixed[:, None]) / temperature


def check_places(scores: Tensor, rewards: Tensor) -> None:
    """Raise a ValueError unless both are vectors of one length and floating type."""
    if scores.dim() != 1 or scores.shape != rewards.shape or not len(scores):
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}, rewards {tuple(rewards.shape)}; "
            "both must be (S,), one number for each of at least one place"
        )
    if not scores.dtype.is_floating_point or scores.dtype != rewards.dtype:
        raise ValueError(
            f"scores are of type {scores.dtype}, rewards of {rewards.dtype}; both must "
            "be of one floating type: tensor.double() makes one"
        )
