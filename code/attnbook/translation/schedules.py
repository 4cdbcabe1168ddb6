"""Learning rates: warm-up, then decay."""

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


def linear_learning_rate(step: int, peak: float, warmup: int, updates: int) -> float:
    """Linear warm-up, then a straight line to 0, which it meets after the last update.

    Args:
        step: Number of the update, from 1.
        peak: Learning rate at update ``warmup``.
        warmup: Number of warm-up updates.
        updates: Number of all updates.
    """
    left = (updates + 1 - step) / max(1, updates + 1 - warmup)
    return peak * max(0.0, min(step / warmup, left))


def learning_rate(config: Config, step: int, updates: int) -> float:
    """The learning rate of an update by the schedule that a config asks for.

    Args:
        config: Of the run.
        step: Number of the update, from 1.
        updates: Number of all updates, which the linear schedule of Muon goes by.
    """
    peak, warmup = config.peak_learning_rate, config.warmup
    if peak is None:
        peak = noam_learning_rate(warmup, config.d_model, warmup)
    if config.optimizer == "muon":
        return linear_learning_rate(step, peak, warmup, updates)
    return inverse_sqrt_learning_rate(step, peak, warmup)
