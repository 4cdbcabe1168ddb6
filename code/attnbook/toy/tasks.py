"""Small sequence tasks on random symbols, each of which tests one ability of attention.

Symbols have the ids 1 to 16. ``PAD``, 0, is no symbol; where a target is ``PAD``, the
answer does not count. Guessing is right in 1 of 16 cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_some
from attnbook.core.vocabulary import PAD

N_SYMBOLS = 16
TASK_VOCAB_SIZE = N_SYMBOLS + 1  # with PAD


class TaskBatch(NamedTuple):
    """B sequences of symbols, and the targets at each position."""

    ids: Tensor  # (B, L)
    targets: Tensor  # (B, L, K): K answers at each position


def random_symbols(b: int, length: int, generator: torch.Generator) -> Tensor:
    """Sample ids, (B, L), uniformly and independently."""
    return torch.randint(1, TASK_VOCAB_SIZE, (b, length), generator=generator)


def previous_symbols(ids: Tensor, back: Sequence[int] = (1, 2)) -> TaskBatch:
    """At each position, predict the symbol k positions before it, for each k.

    Args:
        ids: (B, L).
        back: The K distances k, from 1 on. The first k positions, before which there is
            nothing, do not count.

    Raises:
        ValueError: If a distance is less than 1, or there is none.
    """
    if min(back, default=0) < 1:
        raise ValueError(f"back is {tuple(back)}; distances are counted from 1 on")
    targets = torch.full((*ids.shape, len(back)), PAD, device=ids.device)
    for answer, k in enumerate(back):
        targets[:, k:, answer] = ids[:, :-k]
    return TaskBatch(ids, targets)


def reversed_symbols(ids: Tensor) -> TaskBatch:
    """Predict the sequence, (B, L), in reverse."""
    return TaskBatch(ids, ids.flip(1)[..., None])


def sum_with_previous(ids: Tensor) -> TaskBatch:
    """At each position, predict the sum of its symbol and the previous one, modulo 16.

    Symbols, (B, L), count as the numbers 0 to 15; the first position does not count.
    """
    targets = torch.full_like(ids, PAD)
    targets[:, 1:] = (ids[:, 1:] - 1 + ids[:, :-1] - 1) % N_SYMBOLS + 1
    return TaskBatch(ids, targets[..., None])


def parities(ids: Tensor) -> TaskBatch:
    """Predict whether the ids, (B, L), so far have an even sum (1) or not (2)."""
    return TaskBatch(ids, (ids.cumsum(1) % 2 + 1)[..., None])


def sorted_symbols(ids: Tensor) -> TaskBatch:
    """Predict the symbols, (B, L), in ascending order."""
    return TaskBatch(ids, ids.sort(1).values[..., None])


def position_numbers(ids: Tensor) -> TaskBatch:
    """At each position, predict its number, from 1; the symbols do not matter.

    Raises:
        ValueError: If there are more positions than answers.
    """
    if ids.shape[1] > N_SYMBOLS:
        raise ValueError(
            f"{ids.shape[1]} positions, but only {N_SYMBOLS} answers to number them "
            "with; take shorter sequences"
        )
    numbers = torch.arange(1, ids.shape[1] + 1, device=ids.device).expand_as(ids)
    return TaskBatch(ids, numbers[..., None])


def task_batches(
    make: Callable[[Tensor], TaskBatch], length: int, seed: int, batch_size: int = 64
) -> Iterator[TaskBatch]:
    """Endless batches of a task.

    Args:
        make: Makes a batch of the task from ids, such as :func:`previous_symbols`.
        length: Number of symbols L of a sequence.
        seed: The same seed gives the same sequences.
        batch_size: Number of sequences B of a batch.
    """
    g = torch.Generator().manual_seed(seed)
    while True:
        yield make(random_symbols(batch_size, length, g))


def induction_batches(n: int, seed: int, batch_size: int = 64) -> Iterator[tuple]:
    """Endless batches of an induction task: which symbol followed the last one before?

    The first n - 1 symbols are all different, so the last one occurred once before.

    Yields:
        Symbols, (B, n), and targets, (B, 1).

    Raises:
        ValueError: If there are not n - 1 different symbols, or n is too small.
    """
    if not 3 <= n <= N_SYMBOLS + 1:
        raise ValueError(f"n is {n}; it must be from 3 to {N_SYMBOLS + 1}")
    g = torch.Generator().manual_seed(seed)
    while True:
        # All different.
        order = torch.rand(batch_size, N_SYMBOLS, generator=g).argsort(1)
        ids = torch.cat([order[:, : n - 1], order[:, :1]], 1) + 1  # (B, n)
        earlier = torch.randint(n - 2, (batch_size, 1), generator=g)
        ids[:, -1:] = ids.gather(1, earlier)
        yield ids, ids.gather(1, earlier + 1)


@torch.no_grad()
def task_accuracy(model: Callable[[Tensor], Tensor], batch: TaskBatch) -> Tensor:
    """Accuracy at each position.

    Args:
        model: Returns logits, (B, L, K, V).
        batch: The sequences to test it on.

    Returns:
        (L, K); NaN where no answer counts.
    """
    counts = batch.targets != PAD  # (B, L, K)
    correct = (model(batch.ids).argmax(-1) == batch.targets) & counts
    return correct.sum(0) / counts.sum(0)


@torch.no_grad()
def last_position_accuracy(model: nn.Module, batch: tuple[Tensor, Tensor]) -> float:
    """Accuracy of the predictions at the last position, of at least one sequence."""
    ids, targets = batch
    check_some(ids, "sequence")
    return (model(ids).argmax(-1) == targets).float().mean().item()
