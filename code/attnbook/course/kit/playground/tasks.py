"""What the models of the playground learn: five tasks with symbols, one with words.

A batch is a pair of ids (B, T) and targets (B, T, K): each position is asked K
questions, and a target of -1 asks none.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from attnbook.course.kit.playground.data import GRAMMAR, KINDS, WORDS
from attnbook.course.kit.playground.random_numbers import Stream

SYMBOLS = 16
Batch = tuple[Tensor, Tensor]


def reverse(ids: Tensor) -> Batch:
    """Say the symbols backwards."""
    return ids, ids.flip(1)[..., None]


def sort(ids: Tensor) -> Batch:
    """Say the symbols in their order."""
    return ids, ids.sort(1).values[..., None]


def previous_two(ids: Tensor) -> Batch:
    """Say the symbol before, and the one before that."""
    return ids, torch.stack([shifted(ids, 1), shifted(ids, 2)], -1)


def add_previous(ids: Tensor) -> Batch:
    """Say the sum of the symbol and the one before, modulo 16."""
    before = shifted(ids, 1)
    return ids, torch.where(before < 0, before, (ids + before) % SYMBOLS)[..., None]


def count_positions(ids: Tensor) -> Batch:
    """Say at which position one stands; symbol 0 comes first, and nowhere else."""
    ids = ids.clamp(min=1)
    ids[:, 0] = 0
    return ids, torch.arange(ids.shape[1]).expand_as(ids)[..., None]


def shifted(ids: Tensor, by: int) -> Tensor:
    """Ids moved to the right, or to the left; -1 where nothing comes."""
    return pad(ids, (by, -by), value=-1)


SYMBOL_TASKS: dict[str, Callable[[Tensor], Batch]] = {
    task.__name__: task
    for task in (reverse, sort, previous_two, add_previous, count_positions)
}

TASKS = (*SYMBOL_TASKS, "next_word")


def sizes(task: str) -> tuple[int, int]:
    """V, the number of symbols or words, and K, the questions at each position."""
    return (
        len(WORDS) if task == "next_word" else SYMBOLS,
        2 if task == "previous_two" else 1,
    )


def batches(task: str, name: str, batch: int = 32, length: int = 12) -> Iterator[Batch]:
    """Endless fresh batches.

    Args:
        task: One of ``SYMBOL_TASKS``, or "next_word".
        name: Of the stream of random numbers.
        batch: Sequences in a batch, B.
        length: Positions in a sequence, T.
    """
    stream = Stream(name)
    numbers = iter(stream)
    while True:
        if task == "next_word":
            rows = [next_words(numbers, length) for _ in range(batch)]
            ids = torch.tensor(rows)  # (B, T)
            # What follows the last word is in no input, so nobody asks for it.
            yield ids, shifted(ids, -1)[..., None]
        else:
            ids = (SYMBOLS * stream.take(batch, length)).long()  # (B, T)
            yield SYMBOL_TASKS[task](ids)


def next_words(numbers: Iterator[float], length: int) -> list[int]:
    """The ids of a sentence, followed by another one until the length is reached."""
    ids: list[int] = []
    state = 0
    while len(ids) < length:
        options = GRAMMAR[state]
        chosen = int(len(options) * next(numbers))
        kind, state = options[chosen]
        ids.append(KINDS[kind][int(len(KINDS[kind]) * next(numbers))])
    return ids


def parses(ids: list[int]) -> bool:
    """Tell whether these words are a sentence, or begin one."""
    state = 0
    for word in ids:
        options = [after for kind, after in GRAMMAR[state] if word in KINDS[kind]]
        if not options:
            return False
        state = options[0]
    return True


def best_loss(task: str, causal: bool, length: int = 12) -> float:
    """The least mean loss that any model can reach, in nats for an answer.

    For symbols it is 0. For words behind a causal mask it is the entropy of what may
    follow, over all positions that are asked; without the mask the answer can be seen.
    """
    if task != "next_word" or not causal:
        return 0.0
    reached, total = {0: 1.0}, 0.0
    for position in range(length):
        following: dict[int, float] = {}
        for state, chance in reached.items():
            options = GRAMMAR[state]
            for kind, after in options:
                share = chance / len(options)
                if position:  # the first word is given
                    total += share * math.log(len(options) * len(KINDS[kind]))
                following[after] = following.get(after, 0) + share
        reached = following
    return total / (length - 1)
