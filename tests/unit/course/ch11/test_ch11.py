"""Exercises of chapter 11."""

import torch

from attnbook.analysis.complexity import count
from attnbook.analysis.leaks import influence
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.sequence_layers import (
    RecurrentLayer,
    SelfAttentionLayer,
)


def test_each_symbol_counts_in_parity_and_the_last_alone_in_the_last():
    shares = find("ex11_influence").reference
    ids = torch.tensor([[3, 16, 4], [1, 2, 2]])
    assert shares(lambda ids: ids.cumsum(1) % 2, ids).tolist() == [1, 1, 1]
    assert shares(lambda ids: ids, ids).tolist() == [0, 0, 1]
    assert ids.tolist() == [[3, 16, 4], [1, 2, 2]]


def test_the_costs_cross_where_the_counts_are_equal():
    d = n = find("ex11_crossing").reference
    x = torch.zeros(1, n, d)
    attention, gru = SelfAttentionLayer(d, 1), RecurrentLayer(d)
    assert count(lambda: attention(x)) == count(lambda: gru(x))


def test_the_bug_looks_ahead_and_the_reference_does_not():
    exercise = find("ex11_future")
    (bug, _), *_ = exercise.mistakes
    for x, weight, dilation in exercise.inputs():
        for form, leaks in ((exercise.reference, False), (bug, True)):
            moved = influence(lambda x, f=form: f(x, weight, dilation), x) > 0  # noqa: B023
            assert form(x, weight, dilation).shape == x.shape
            assert moved.triu(1).any() == leaks
