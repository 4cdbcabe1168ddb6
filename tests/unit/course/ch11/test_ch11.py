"""Paths, costs and exercises of chapter 11."""

from itertools import pairwise, product

import pytest
import torch
from notebook_cells import printed
from torch import nn

from attnbook.analysis.complexity import count
from attnbook.analysis.leaks import influence
from attnbook.course.ch11 import figures as ch11
from attnbook.course.ch11.first_symbol import (
    contiguous_dilations,
    exponential_dilations,
)
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
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
        assert [ch11.path_length(kind, n) for n in (8, 16)] == lengths
    for n in (8, 16, 28, 32, 64):  # all ways to pick 0, 1 or 2 dilations a layer
        ways = product(*((0, d, 2 * d) for d in exponential_dilations(n)))
        least = min(sum(map(bool, way)) for way in ways if sum(way) == n - 1)
        assert ch11.path_length("dilated", n) == least


# Exercises


def test_the_cheaper_layers_are_those_that_count_less():
    n, d = 64, 512
    x = torch.zeros(1, n, d)
    layers = {
        "a": RecurrentLayer(d, nn.RNN),
        "b": RecurrentLayer(d),
        "d": ConvolutionLayer(d, 3),
        "e": ConvolutionLayer(d, 7),
        "f": ConvolutionLayer(d, 3, separable=True),
    }
    attention = SelfAttentionLayer(d, 8)
    limit = count(lambda: attention(x))
    cheaper = [
        k for k, layer in layers.items() if count(lambda la=layer: la(x)) < limit
    ]
    assert "".join(cheaper) == find("ex11_cheaper").reference  # an LSTM (c): 8 n d²


def test_layers_are_as_many_as_the_stacks_have():
    layers = find("ex11_layers").reference
    for n in (1, 2, 3, 8, 9, 10, 27, 28, 1000):
        for k in (2, 3, 5):
            assert layers(n, k, False) == len(contiguous_dilations(n, k))
            assert layers(n, k, True) == len(exponential_dilations(n, k))


def test_the_bug_looks_ahead_and_the_reference_does_not():
    exercise = find("ex11_future")
    (bug, _), *_ = exercise.mistakes
    for x, weight, dilation in exercise.inputs():
        for form, leaks in ((exercise.reference, False), (bug, True)):
            moved = influence(lambda x, f=form: f(x, weight, dilation), x) > 0  # noqa: B023
            assert form(x, weight, dilation).shape == x.shape
            assert moved.triu(1).any() == leaks


@pytest.mark.parametrize("dilated", [False, True])
def test_kernels_of_width_1_never_reach_a_neighbour(dilated):
    layers = printed("ch11", "ex11_layers", solution=True)
    assert layers(1, 1, dilated) == 0
    with pytest.raises(ValueError, match="no neighbour"):
        layers(2, 1, dilated)
