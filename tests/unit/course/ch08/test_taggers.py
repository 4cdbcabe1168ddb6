"""Layers that lack a part, and the stacks that they make."""

import pytest
import torch
from compare import close, double, make_layer, numbers, randomise
from torch import nn

from attnbook.course.ch08.taggers import LAYERS, AttentionLayer, linear_layer, tagger
from attnbook.nn.layers import EncoderLayer


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_attention_layer_is_attention_and_its_residual(norm_first):
    layer = randomise(double(AttentionLayer, 8, 2, norm_first))
    (x,) = numbers(0, (2, 5, 8))
    norm, attend = layer.norm, layer.attention
    y = norm(x) if norm_first else x
    wanted = x + attend(y, y, y)
    close(layer(x), wanted if norm_first else norm(wanted))


def test_a_layer_without_relu_has_a_linear_network():
    layer = randomise(double(make_layer, linear_layer, 8, 2, 16))
    one, two = numbers(0, (1, 3, 8), (1, 3, 8))
    f = layer.feed_forward
    close(f(one + two) + f(torch.zeros_like(one)), f(one) + f(two))
    sizes = [
        sum(p.numel() for p in made.parameters())
        for made in (layer, make_layer(EncoderLayer, 8, 2, 16))
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("kind", LAYERS)
def test_each_kind_has_its_sublayers_and_a_last_norm(kind):
    modules = [*tagger(kind, 2).modules()]
    norms = sum(isinstance(module, nn.LayerNorm) for module in modules)
    assert norms == (3 if kind == "without" else 5)
    linear = sum(isinstance(module, nn.Sequential) for module in modules)
    assert linear == (2 if kind == "without ReLU" else 0)
