"""Learning-rate schedules: warm-up, then decay with the inverse square root or to 0."""

from __future__ import annotations

from attnbook.core.checks import check_sizes
from attnbook.translation.configs import Config


def noam_learning_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    r"""The learning rate of Vaswani et al. 2017, equation 3.

    .. math:: d^{-0.5} \min(s^{-0.5}, s \cdot w^{-1.5})

    It grows linearly for ``warmup`` updates, then decays with the inverse square root.

    Args:
        step: s, the number of the update, from 1.
        d_model: d, the width of the model.
        warmup: w, the number of warm-up updates; the learning rate is highest at w.

    Raises:
        ValueError: If one of the three is not a whole number from 1 on.
    """
    check_sizes(step=step, d_model=d_model, warmup=warmup)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_sqrt_learning_rate(step: int, peak: float, warmup: int) -> float:
    """The same schedule with a freely chosen peak.

    Args:
        step: Number of the update, from 1.
        peak: Learning rate at update ``warmup``.
        warmup: Number of warm-up updates.
    """
    return (
        peak
        * noam_learning_rate(step, 1, warmup)
        / noam_learning_rate(warmup, 1, warmup)
    )


def linear_learning_rate(step: int, peak: float, warmup: int, total: int) -> float:
    """Linear warm-up, then linear decay, to 0 after the last update.

    Args:
        step: Number of the update, from 1.
        peak: Learning rate at update ``warmup``.
        warmup: Number of warm-up updates.
        total: Number of all updates; the rate stays at 0 after them.
    """
    check_sizes(step=step, warmup=warmup, total=total)
    if step > total:
        return 0.0
    if step <= warmup:
        return peak * step / warmup
    return peak * (total + 1 - step) / (total + 1 - warmup)


def learning_rate_of(config: Config, step: int, updates: int) -> float:
    """The learning rate of an update by the schedule that a config asks for.

    Args:
        config: Of the run.
        step: Number of the update, from 1.
        updates: Number of all updates.
    """
    peak, warmup = config.peak_learning_rate, config.warmup
    if peak is None:
        return noam_learning_rate(step, config.d_model, warmup)
    if config.decay_to_zero:
        return linear_learning_rate(step, peak, warmup, updates)
    return inverse_sqrt_learning_rate(step, peak, warmup)
