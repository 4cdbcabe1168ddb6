"""Paths, costs and exercises of chapter 11."""

from itertools import pairwise, product

import torch

from attnbook.analysis.complexity import count
from attnbook.analysis.leaks import influence
from attnbook.course.ch11 import figures as ch11
from attnbook.course.ch11 import lab
from attnbook.course.ch11.first_symbol import (
    exponential_dilations,
)
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.sequence_layers import (
    RecurrentLayer,
    SelfAttentionLayer,
)

# Paths


def test_a_drawn_path_follows_connections_and_is_a_shortest_one():
    for name, (edges, path) in ch11.PATHS.items():
        assert (path[0], path[-1][0]) == ((0, 0), ch11.POSITIONS - 1), name
        assert set(pairwise(path)) <= set(edges), name
        reached, steps = {(0, 0)}, 0
        while path[-1] not in reached:
            reached |= {end for start, end in edges if start in reached}
            steps += 1
        assert steps == len(path) - 1, name


# The first symbol

PATH_LENGTHS = {  # at 8 and 16 positions
    "self-attention": [1, 1],
    "dilated": [2, 2],
    "contiguous": [4, 8],
    "GRU": [8, 16],
}


def test_a_path_is_as_long_as_the_state_or_the_stack():
    for kind, lengths in PATH_LENGTHS.items():
        assert [lab.path_length(kind, n) for n in (8, 16)] == lengths
    for n in (8, 16, 28, 32, 64):  # all ways to pick 0, 1 or 2 dilations a layer
        ways = product(*((0, d, 2 * d) for d in exponential_dilations(n)))
        least = min(sum(map(bool, way)) for way in ways if sum(way) == n - 1)
        assert lab.path_length("dilated", n) == least


# Exercises


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
