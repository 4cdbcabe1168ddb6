"""Exercises of chapter 11."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise

Task = Callable[[Tensor], Tensor]  # symbols, (B, n) → answers, (B, n)


def _sequences() -> Tensor:
    return torch.randint(1, 17, (8, 5), generator=torch.Generator().manual_seed(0))


@exercise(
    lambda: [
        (lambda ids: ids.cumsum(1) % 2, _sequences()),
        (lambda ids: ids, _sequences()),
        (lambda ids: ids.cummax(1).values, _sequences()),
    ]
)
def ex11_influence(task: Task, ids: Tensor) -> Tensor:
    """Change one symbol of a copy, ask the task again, and compare [:, -1].

    ids.clone() => ids
        Your changes add up: change a copy of ids each time.
    task(ids)[:, -1] => task(ids)
    task(other)[:, -1] != answers) => task(other) != answers).any(-1)
        Compare the last answers only.
    .mean() => .sum()
        These are numbers of sequences; divide by how many there are.
    torch.stack(moved) => torch.stack(moved).mean()
        Give a share for each position, (n,), not their mean.
    """
    answers, moved = task(ids)[:, -1], []
    for position in range(ids.shape[1]):
        other = ids.clone()
        other[:, position] = other[:, position] % 16 + 1
        moved.append((task(other)[:, -1] != answers).float().mean())
    return torch.stack(moved)


@exercise()
def ex11_crossing() -> int:
    """Put d = 64 into the inequality.

    64 => 192
        Self-attention also has four projections.
    64 => 128
        Both the scores and the means take n² d.
    """
    return 64


@exercise(
    lambda: draw_inputs(  # x, (B, n, D), kernels, (D, D, k), and a dilation
        ((1, 7, 2), (2, 2, 3), 1), ((2, 9, 2), (2, 2, 3), 2), ((2, 11, 4), (4, 4, 5), 2)
    )
)
def ex11_future(x: Tensor, weight: Tensor, dilation: int) -> Tensor:
    """Change the last token of x: which outputs move? Where are the zeros added?

    (before, 0) => (before // 2, before // 2)
        Each position still sees later ones: all zeros belong in front.
    (before, 0) => (0, before)
        Now it sees only the future: the zeros belong in front.
    1) * dilation => 1)
    dilation=dilation => dilation=1
        The dilation is gone.
    """
    before = (weight.shape[-1] - 1) * dilation
    return F.conv1d(F.pad(x.mT, (before, 0)), weight, dilation=dilation).mT
