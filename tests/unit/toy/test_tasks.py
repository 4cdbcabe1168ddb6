"""Small tasks on random symbols: their answers by hand, and how they are counted."""

from itertools import islice, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.toy import tasks
from attnbook.toy.tasks import (
    N_SYMBOLS,
    TASK_VOCAB_SIZE,
    TaskBatch,
    induction_batches,
    last_position_accuracy,
    previous_symbols,
    random_symbols,
    task_accuracy,
    task_batches,
)

symbol = st.integers(1, N_SYMBOLS)
rows = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(symbol, min_size=n, max_size=n), min_size=1, max_size=4)
)
back = st.lists(st.integers(1, 9), min_size=1, max_size=3)


def answers_of(batch):
    """Always knows, and does not look at the ids."""
    return lambda _: F.one_hot(batch.targets, TASK_VOCAB_SIZE).double()


@given(rows, back)
def test_previous_asks_for_the_symbol_k_positions_before(rows, back):
    """Also for k beyond the sequence; what stands before it does not count."""
    batch = previous_symbols(torch.tensor(rows), back)
    wanted = [
        [[row[i - k] if i >= k else PAD for k in back] for i in range(len(row))]
        for row in rows
    ]
    assert batch.ids.tolist() == rows
    assert batch.targets.tolist() == wanted


ANSWERS = {  # of a row; sums are of numbers from 0 to 15, and 2 is an odd parity
    "reversed_symbols": lambda row: row[::-1],
    "sum_with_previous": lambda row: [
        PAD,
        *(1 + (b - 1 + a - 1) % 16 for a, b in pairwise(row)),
    ],
    "parities": lambda row: [1 + sum(row[: i + 1]) % 2 for i in range(len(row))],
    "sorted_symbols": sorted,
    "position_numbers": lambda row: [*range(1, len(row) + 1)],
}


@pytest.mark.parametrize("task", ANSWERS)
@given(rows)
def test_each_task_asks_for_what_it_is_called_after(task, rows):
    batch = getattr(tasks, task)(torch.tensor(rows))
    assert batch.ids.tolist() == rows
    assert batch.targets.shape == (*batch.ids.shape, 1)
    assert batch.targets[..., 0].tolist() == [ANSWERS[task](row) for row in rows]


def test_symbols_are_all_drawn_alike_and_padding_are_none():
    """16,000 draws: each about 1,000 times; 150 is nearly 5 standard deviations."""
    drawn = random_symbols(160, 100, torch.Generator().manual_seed(0))
    counts = drawn.flatten().bincount(minlength=TASK_VOCAB_SIZE).tolist()
    assert (counts[PAD], len(counts)) == (0, TASK_VOCAB_SIZE)
    assert all(abs(n - 1000) < 150 for n in counts[1:])


def test_batches_follow_from_the_seed_and_are_all_different():
    one, again, other = (
        [batch.ids for batch in islice(task_batches(previous_symbols, 9, seed, 5), 3)]
        for seed in (0, 0, 1)
    )
    assert all(map(torch.equal, one, again))
    assert not any(map(torch.equal, one, other))
    assert not torch.equal(*one[:2])


@pytest.mark.parametrize("n", [3, 12, 17])
def test_induction_asks_for_what_followed(n):
    ids, targets = next(induction_batches(n, seed=0, batch_size=50))
    asked = set()
    for row, target in zip(ids.tolist(), targets[:, 0].tolist(), strict=True):
        assert len(row) == n
        assert len(set(row[:-1])) == n - 1  # all different, so one answer
        position = row.index(row[-1])
        assert position < n - 2
        assert row[position + 1] == target
        asked.add(position)
    assert asked == set(range(n - 2))  # each distance occurs


# Accuracy


def test_shares_are_those_of_each_position_and_answer():
    """By hand: of four rows one is spoiled at place 1, two at 2; one doesn't count."""
    four = torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [1, 1, 1]])
    batch = previous_symbols(four, (1,))
    batch.targets[4] = PAD
    output = batch.targets.clone()
    output[0, 1] = 16
    output[1:3, 2] = PAD
    found = task_accuracy(answers_of(TaskBatch(four, output)), batch)
    assert found[1:].tolist() == [[0.75], [0.5]]
    assert found[0].isnan()


def test_the_share_at_the_last_position_is_of_the_batch():
    pairs = torch.tensor([[1, 2], [3, 4], [5, 5], [2, 1]])
    found = last_position_accuracy(
        lambda x: F.one_hot(x[:, -1:], 17), (pairs, pairs[:, :1])
    )
    assert found == 0.25
