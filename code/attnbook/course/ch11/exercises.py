"""Exercises of chapter 11."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong

Task = Callable[[Tensor], Tensor]  # symbols, (B, n) → answers, (B, n)


def _answers(task: Task, ids: Tensor, *, anew: bool = True) -> tuple[Tensor, Tensor]:
    """A task's answers, (B, n), and those after each single change, (n, B, n)."""
    answers, changed = task(ids), []
    for position in range(ids.shape[1]):
        other = ids.clone() if anew else ids
        other[:, position] = other[:, position] % 16 + 1
        changed.append(task(other))
    return answers, torch.stack(changed)


def _influence(task: Task, ids: Tensor, *, anew: bool = True) -> Tensor:
    answers, changed = _answers(task, ids, anew=anew)
    return (changed != answers)[:, :, -1].float().mean(1)


def _of_any_answer(task: Task, ids: Tensor) -> Tensor:
    answers, changed = _answers(task, ids)
    return (changed != answers).any(-1).float().mean(1)


def _sequences() -> Tensor:
    return torch.randint(1, 17, (8, 5), generator=torch.Generator().manual_seed(0))


register(
    "ex11_influence",
    reference=_influence,
    inputs=lambda: [
        (lambda ids: ids.cumsum(1) % 2, _sequences()),
        (lambda ids: ids, _sequences()),
        (lambda ids: ids.cummax(1).values, _sequences()),
    ],
    hint="Change one symbol of a copy, ask the task again, and compare [:, -1].",
    mistakes=wrong(
        lambda task, ids: _influence(task, ids, anew=False),
        "Your changes add up: change a copy of ids each time.",
        _of_any_answer,
        "Compare the last answers only.",
        lambda task, ids: len(ids) * _influence(task, ids),
        "These are numbers of sequences; divide by how many there are.",
        lambda task, ids: _influence(task, ids).mean(),
        "Give a share for each position, (n,), not their mean.",
    ),
)

register(
    "ex11_crossing",
    reference=64,
    hint="Put d = 64 into the inequality.",
    mistakes=wrong(
        192,
        "Self-attention also has four projections.",
        128,
        "Both the scores and the means take n² d.",
    ),
)


def _dilated(
    x: Tensor, weight: Tensor, dilation: int, before: int, after: int
) -> Tensor:
    padded = F.pad(x.mT, (before, after))
    return F.conv1d(padded, weight, dilation=dilation).mT


def _padding(weight: Tensor, dilation: int) -> int:
    return (weight.shape[-1] - 1) * dilation


register(
    "ex11_future",
    reference=lambda x, w, step: _dilated(x, w, step, _padding(w, step), 0),
    inputs=lambda: draw_inputs(  # x, (B, n, D), kernels, (D, D, k), and a dilation
        ((1, 7, 2), (2, 2, 3), 1), ((2, 9, 2), (2, 2, 3), 2), ((2, 11, 4), (4, 4, 5), 2)
    ),
    hint="Change the last token of x: which outputs move? Where are the zeros added?",
    mistakes=wrong(
        lambda x, w, step: _dilated(
            x, w, step, _padding(w, step) // 2, _padding(w, step) // 2
        ),
        "Each position still sees later ones: all zeros belong in front.",
        lambda x, w, step: _dilated(x, w, step, 0, _padding(w, step)),
        "Now it sees only the future: the zeros belong in front.",
        lambda x, w, step: _dilated(x, w, 1, _padding(w, 1), 0),
        "The dilation is gone.",
    ),
)
