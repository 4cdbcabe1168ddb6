"""Small tasks on random symbols, each of which needs one thing of attention.

Ids run from 1 to 16; ``PAD``, 0, is no symbol, and as a target it does not count. By
chance one answer in 16 is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD

N_SYMBOLS = 16
TASK_VOCAB_SIZE = N_SYMBOLS + 1  # with PAD


class TaskBatch(NamedTuple):
    """B sequences of symbols, and what is to be said at each place."""

    ids: Tensor  # (B, L)
    targets: Tensor  # (B, L, K): K answers a place


def random_symbols(b: int, length: int, generator: torch.Generator) -> Tensor:
    """Draw ids, (B, L), all symbols alike and independent."""
    return torch.randint(1, TASK_VOCAB_SIZE, (b, length), generator=generator)


def previous_symbols(ids: Tensor, back: Sequence[int] = (1, 2)) -> TaskBatch:
    """Say at each place which symbol stood k places before it, for each k.

    Args:
        ids: (B, L).
        back: How far to look back, K numbers from 1 up; the first k places, before
            which nothing stands, do not count.

    Raises:
        ValueError: If one of them is less than 1, or there is none.
    """
    if min(back, default=0) < 1:
        raise ValueError(f"back is {tuple(back)}; places back are counted from 1 on")
    targets = torch.full((*ids.shape, len(back)), PAD)
    for answer, k in enumerate(back):
        targets[:, k:, answer] = ids[:, :-k]
    return TaskBatch(ids, targets)


def reversed_symbols(ids: Tensor) -> TaskBatch:
    """Say the sequence, (B, L), from its end."""
    return TaskBatch(ids, ids.flip(1)[..., None])


def sum_with_previous(ids: Tensor) -> TaskBatch:
    """Say at each place the sum of its symbol and the one before it, modulo 16.

    Symbols count as the numbers 0 to 15; the first place does not count.

    Args:
        ids: (B, L).
    """
    targets = torch.full_like(ids, PAD)
    targets[:, 1:] = (ids[:, 1:] - 1 + ids[:, :-1] - 1) % N_SYMBOLS + 1
    return TaskBatch(ids, targets[..., None])


def sorted_symbols(ids: Tensor) -> TaskBatch:
    """Say the symbols, (B, L), from the smallest to the largest."""
    return TaskBatch(ids, ids.sort(1).values[..., None])


def position_numbers(ids: Tensor) -> TaskBatch:
    """Say at each place its own number, from 1; what stands there does not matter.

    Raises:
        ValueError: If there are more places than answers.
    """
    if ids.shape[1] > N_SYMBOLS:
        raise ValueError(
            f"{ids.shape[1]} places, but only {N_SYMBOLS} answers to number them with; "
            "take shorter sequences"
        )
    numbers = torch.arange(1, ids.shape[1] + 1).expand_as(ids)
    return TaskBatch(ids, numbers[..., None])


def task_batches(
    make: Callable[[Tensor], TaskBatch], length: int, seed: int, batch_size: int = 64
) -> Iterator[TaskBatch]:
    """Fresh batches without end.

    Args:
        make: Such as :func:`previous`: turns ids into a puzzle.
        length: Symbols a sequence, L.
        seed: The same seed gives the same sequences.
        batch_size: Sequences a batch, B.
    """
    g = torch.Generator().manual_seed(seed)
    while True:
        yield make(random_symbols(batch_size, length, g))


@torch.no_grad()
def task_accuracy(model: Callable[[Tensor], Tensor], puzzle: TaskBatch) -> Tensor:
    """Share of right answers at each place.

    Args:
        model: Returns logits, (B, L, K, V).
        puzzle: On which it is tried.

    Returns:
        (L, K); NaN where no answer counts.
    """
    counts = puzzle.targets != PAD  # (B, L, K)
    right = (model(puzzle.ids).argmax(-1) == puzzle.targets) & counts
    return right.sum(0) / counts.sum(0)
