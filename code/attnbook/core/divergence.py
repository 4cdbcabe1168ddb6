"""Training that has diverged: numbers that aren't finite are never passed on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from torch import Tensor


class DivergedError(ValueError):
    """Training has made a number that isn't finite, from which nothing is learned."""


def check_finite(
    weights: Iterable[Tensor],
    losses: Sequence[float] = (),
    remedy: str = "lower the learning rate, or let it rise over more steps",
    first: int = 1,
) -> None:
    """Raise a :class:`DivergedError` unless losses and weights are finite.

    A GPU has to be waited for: call it where a loss is read anyway.

    Args:
        weights: What the updates have left.
        losses: Of updates in a row.
        remedy: What to try, for the message.
        first: Number of the first of the updates.
    """
    for update, loss in enumerate(losses, first):
        if not math.isfinite(loss):
            raise DivergedError(
                f"training diverged: the loss of update {update} is {loss}; {remedy}"
            )
    if not all(w.isfinite().all() for w in weights):
        raise DivergedError(
            f"training diverged: the last update left weights that are not finite; "
            f"{remedy}"
        )
