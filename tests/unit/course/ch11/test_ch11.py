"""Chapter 11: its exercises, and what reaches the last place: model, stacks, task."""

import pytest
import torch
from compare import close
from torch import nn

from attnbook.analysis.complexity import count
from attnbook.analysis.leaks import influence
from attnbook.course.ch11.first_symbol import (
    LastPosition,
    contiguous_dilations,
    convolutions,
    exponential_dilations,
)
from attnbook.course.kit.exercises.short_exercises import find
from attnbook.nn.positions import sinusoids
from attnbook.nn.sequence_layers import RecurrentLayer, SelfAttentionLayer


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


def hears_the_first(layers, n, d=8):
    torch.manual_seed(0)
    model = LastPosition(layers, d).eval()
    vectors = []
    model.embedding.register_forward_hook(lambda *args: vectors.append(args[2]))
    logits = model(torch.ones(1, n, dtype=torch.long))
    (moved,) = torch.autograd.grad(logits.square().sum(), vectors[0])
    return bool((moved[0, 0] != 0).any())


@pytest.mark.parametrize("n", [2, 8, 9, 10, 27, 28])
def test_stacks_are_just_deep_enough(n):
    for stack in (contiguous_dilations(n), exponential_dilations(n)):
        assert hears_the_first(convolutions(8, stack), n)
        assert not hears_the_first(convolutions(8, stack[:-1]), n)


def test_a_model_is_what_its_docstring_says():
    torch.manual_seed(0)
    layer = SelfAttentionLayer(8, 2)
    model, ids = LastPosition([layer], 8), torch.tensor([[3, 1, 4]])
    x = model.embedding(ids) + sinusoids(3, 8)
    x = x + layer(nn.functional.layer_norm(x, (8,)))
    last = model.out(nn.functional.layer_norm(x[:, -1:], (8,)))
    close(model(ids), last, atol=1e-6)
