"""Training that has diverged: numbers that aren't finite are never passed on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from torch import Tensor


class DivergedError(ValueError):
    """Training has made a number that isn't finite, from which nothing is learned.

    Args:
        what: A clause that says which number it is.
    """

    def __init__(self, what: str):
        super().__init__(
            f"training diverged: {what}; lower the learning rate, or let it rise over "
            "more updates"
        )


def check_finite(
    weights: Iterable[Tensor], losses: Sequence[float] = (), first: int = 1
) -> None:
    """Raise a :class:`DivergedError` unless losses and weights are finite.

    A GPU has to be waited for: call it where a loss is read anyway.

    Args:
        weights: What the updates have left.
        losses: Of updates in a row.
        first: Number of the first of these updates.
    """
    for update, loss in enumerate(losses, first):
        if not math.isfinite(loss):
            raise DivergedError(f"the loss of update {update} is {loss}")
    if not all(w.isfinite().all() for w in weights):
        raise DivergedError("the last update left weights that are not finite")
