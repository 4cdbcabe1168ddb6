"""What reaches the last place: the model, its stacks and its task."""

import pytest
import torch
from compare import close
from torch import nn

from attnbook.course.ch11.first_symbol import (
    LastPosition,
    contiguous_dilations,
    convolutions,
    exponential_dilations,
)
from attnbook.nn.positions import sinusoids
from attnbook.nn.sequence_layers import SelfAttentionLayer


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
