"""Layers that lack a part, and the stacks that they make."""

import pytest
import torch
from compare import close, double, make_layer, numbers, randomise
from torch import nn

from attnbook.course.ch08.taggers import (
    LAYERS,
    AttentionLayer,
    deep_tagger,
    linear_layer,
    tagger,
)
from attnbook.nn.block import Residual
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
def test_each_kind_has_the_sublayers_it_is_called_after(kind):
    model = tagger(kind, 2)
    assert len(model.layers) == 2
    assert all(m.norm_first for m in model.modules() if isinstance(m, Residual))
    norms = [m for m in model.layers.modules() if isinstance(m, nn.LayerNorm)]
    assert len(norms) == (2 if kind == "without" else 4)
    assert isinstance(model.norm, nn.LayerNorm)
    linear = sum(isinstance(m, nn.Sequential) for m in model.modules())
    assert linear == 2 * (kind == "without ReLU")


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_deep_one_ends_with_a_norm_of_its_own_in_pre_norm(norm_first):
    model = deep_tagger(3, norm_first, d_model=8)
    assert isinstance(model.norm, nn.LayerNorm) == norm_first
    assert [layer.residual.norm_first for layer in model.layers] == [norm_first] * 3


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="choose one of with, without ReLU, without"):
        tagger("wihtout", 2)
