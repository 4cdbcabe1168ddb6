"""Small tasks on random symbols: their answers by hand, and how they are counted."""

from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.toy.tasks import (
    N_SYMBOLS,
    TASK_VOCAB_SIZE,
    TaskBatch,
    parities,
    position_numbers,
    previous_symbols,
    random_symbols,
    reversed_symbols,
    sorted_symbols,
    sum_with_previous,
    task_accuracy,
    task_batches,
)

symbol = st.integers(1, N_SYMBOLS)
rows = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(symbol, min_size=n, max_size=n), min_size=1, max_size=4)
)
back = st.lists(st.integers(1, 9), min_size=1, max_size=3)
ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


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


def test_previous_asks_for_one_and_two_before_unless_told():
    assert torch.equal(
        previous_symbols(ids).targets, previous_symbols(ids, (1, 2)).targets
    )


@given(rows)
def test_backwards_asks_for_the_sequence_from_its_end(rows):
    batch = reversed_symbols(torch.tensor(rows))
    assert batch.ids.tolist() == rows
    assert batch.targets[..., 0].tolist() == [row[::-1] for row in rows]
    assert batch.targets.shape == (*batch.ids.shape, 1)


@given(rows)
def test_sums_are_of_a_symbol_and_the_one_before(rows):
    """As numbers from 0 to 15, modulo 16; nothing stands before the first."""
    batch = sum_with_previous(torch.tensor(rows))
    wanted = [
        [PAD, *(1 + (row[i] - 1 + row[i - 1] - 1) % 16 for i in range(1, len(row)))]
        for row in rows
    ]
    assert batch.ids.tolist() == rows
    assert batch.targets[..., 0].tolist() == wanted
    assert batch.targets.shape == (*batch.ids.shape, 1)


@given(rows)
def test_parities_are_of_all_symbols_so_far(rows):
    """2 after an odd sum, 1 after an even one."""
    batch = parities(torch.tensor(rows))
    wanted = [[1 + sum(row[: i + 1]) % 2 for i in range(len(row))] for row in rows]
    assert batch.targets[..., 0].tolist() == wanted
    assert batch.targets.shape == (*batch.ids.shape, 1)


@given(rows)
def test_in_order_asks_for_the_symbols_sorted(rows):
    batch = sorted_symbols(torch.tensor(rows))
    assert batch.ids.tolist() == rows
    assert batch.targets[..., 0].tolist() == [sorted(row) for row in rows]
    assert batch.targets.shape == (*batch.ids.shape, 1)


@given(rows)
def test_position_asks_for_its_number_whatever_stands_there(rows):
    batch = position_numbers(torch.tensor(rows))
    assert batch.ids.tolist() == rows
    assert batch.targets[..., 0].tolist() == [list(range(1, len(rows[0]) + 1))] * len(
        rows
    )
    assert batch.targets.shape == (*batch.ids.shape, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: previous_symbols(ids, (1, 0)), r"back is \(1, 0\); .* from 1 on"),
        (lambda: previous_symbols(ids, (-1,)), r"back is \(-1,\)"),
        (
            lambda: position_numbers(torch.ones(2, 17).long()),
            "17 positions, but only 16 answers",
        ),
    ],
)
def test_what_cannot_be_asked_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_as_many_positions_as_answers_can_be_numbered():
    assert position_numbers(torch.ones(1, 16).long()).targets[0, :, 0].tolist() == [
        *range(1, 17)
    ]


def test_symbols_are_all_drawn_alike_and_padding_are_none():
    """16,000 draws: each about 1,000 times; 150 is nearly 5 standard deviations."""
    drawn = random_symbols(160, 100, torch.Generator().manual_seed(0))
    assert drawn.shape == (160, 100)
    counts = drawn.flatten().bincount(minlength=TASK_VOCAB_SIZE).tolist()
    assert counts[PAD] == 0
    assert len(counts) == N_SYMBOLS + 1 == TASK_VOCAB_SIZE
    assert all(abs(n - 1000) < 150 for n in counts[1:])


def first(make=reversed_symbols, length=6, seed=0, n=3, **kwargs):
    return list(islice(task_batches(make, length, seed, **kwargs), n))


def test_batches_follow_from_the_seed_and_are_all_different():
    one, again, other = first(), first(), first(seed=1)
    for a, b, c in zip(one, again, other, strict=True):
        assert torch.equal(a.ids, b.ids)
        assert torch.equal(a.targets, b.targets)
        assert not torch.equal(a.ids, c.ids)
    assert not torch.equal(one[0].ids, one[1].ids)
    assert not torch.equal(one[1].ids, one[2].ids)


def test_batches_are_of_the_size_asked_for_and_of_the_kind():
    for batch in first(previous_symbols, length=9, batch_size=5):
        assert batch.ids.shape == (5, 9)
        assert torch.equal(batch.targets, previous_symbols(batch.ids).targets)
    assert first(position_numbers, n=1)[0].ids.shape == (64, 6)
    assert first(position_numbers, n=1)[0].targets.shape == (64, 6, 1)


def test_an_answer_that_does_not_count_has_no_share():
    """And saying PAD there earns nothing."""
    batch = previous_symbols(ids)
    found = task_accuracy(answers_of(batch), batch)
    assert found.shape == (5, 2)
    assert found.isnan().tolist() == [[True, True], [False, True], *[[False] * 2] * 3]
    assert found.nansum() == 7


def test_shares_are_those_of_each_position_and_answer():
    """Counted by hand: one row of four is spoiled at place 1, two at place 2."""
    four = torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]])
    batch = previous_symbols(four, (1,))
    output = batch.targets.clone()
    output[0, 1] = 16
    output[1:3, 2] = PAD
    found = task_accuracy(answers_of(TaskBatch(four, output)), batch)
    assert found[1:].tolist() == [[0.75], [0.5]]


def test_rows_that_do_not_count_are_left_out_of_the_share():
    """Two rows of which one has a pad as its target: half of them counts."""
    targets = torch.tensor([[[5]], [[PAD]]])
    batch = TaskBatch(torch.ones(2, 1, dtype=torch.int64), targets)
    assert task_accuracy(answers_of(batch), batch).tolist() == [[1.0]]


def test_counting_keeps_no_gradient():
    weight = torch.ones(TASK_VOCAB_SIZE, requires_grad=True)
    seen = []

    def model(ids):
        seen.append((weight * 2).requires_grad)
        return torch.zeros(*ids.shape, 1, TASK_VOCAB_SIZE) + weight

    task_accuracy(model, reversed_symbols(ids))
    assert seen == [False]
