"""Exercises of chapter 6."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import exercise


@exercise()
def ex6_allowed() -> tuple[int, int]:
    """Draw both masks, 6 × 6. Query i may attend to the real tokens among 1 … i.

    11 => 3
        Queries at padding aren't masked: padding is masked as a key only.
    21, 11 => 36, 12
        That is the padding mask alone; later positions are masked too.
    11 => 21
        That is the causal mask alone; the second sentence has four padding tokens.
    21, 11 => 15, 9
        A position may attend to itself: the diagonal is True at real tokens.
    """
    return 21, 11


@exercise(lambda: [(5, 2), (6, 3), (4, 1), (3, 9)])
def ex6_window(t: int, w: int) -> Tensor:
    """With d = i - j, how far key j is before query i: allowed is 0 ≤ d < w.

    1 - w => -w
        One too many: the position itself is one of the w.
    .tril() => .tril(w - 1)
        The window also reaches forward, to later positions.
    .triu(1 - w) =>
        Every row reaches back to the first position; w is not used.
    """
    return torch.ones(t, t, dtype=torch.bool).tril().triu(1 - w)
