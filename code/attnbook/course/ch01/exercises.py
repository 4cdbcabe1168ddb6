"""Exercises of chapter 1."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise


@exercise()
def ex1_all_but_the_verb() -> tuple[float, float]:
    """Every clause has one verb, out of eight; the guesses are independent.

    1 / 64 => 1 / 8
        Two clauses have two verbs, and both must be right.
    1 / 64 => 2 / 8
        Two guesses must both be right: multiply.
    1 / 8, 1 / 64 => 7 / 8, 49 / 64
        Those are the shares of wrong guesses.
    """
    return 1 / 8, 1 / 64


def _states_and_lengths() -> list[tuple[Tensor, Tensor]]:
    short, long = torch.tensor([3, 1]), torch.tensor([2, 5, 4])
    return draw_inputs(((2, 3, 4), short), ((3, 5, 2), long))


@exercise(_states_and_lengths)
def ex1_last_state(states: Tensor, lengths: Tensor) -> Tensor:
    """Row i ends at position lengths[i] - 1; index with two tensors at once.

    torch.arange(len(states)), lengths - 1 => :, -1
        You take the last column, which is padding in a short sentence.
    lengths - 1 => lengths.clamp(max=states.shape[1] - 1)
        One position too far: counting begins at 0.
    """
    return states[torch.arange(len(states)), lengths - 1]
