"""The small stack that answers at each place."""

import pytest
import torch
from compare import close, double, make_layer, numbers, randomise
from torch import nn

from attnbook.nn.block import Residual
from attnbook.nn.layers import EncoderLayer, ScaledEmbedding
from attnbook.nn.positions import sinusoids
from attnbook.toy.task_models import (
    LAYERS,
    AttentionLayer,
    Tagger,
    deep_tagger,
    linear_layer,
    tagger,
)
from attnbook.toy.tasks import TASK_VOCAB_SIZE, random_symbols


def some_ids():
    return random_symbols(3, 5, torch.Generator().manual_seed(0))


def test_a_tagger_is_words_positions_layers_and_answers():
    layers = [nn.Linear(8, 8), nn.Linear(8, 8)]
    model = double(Tagger, ScaledEmbedding(TASK_VOCAB_SIZE, 8), layers, nn.LayerNorm(8))
    randomise(model)
    ids = some_ids()
    x = model.embedding(ids) + sinusoids(5, 8, dtype=torch.float64)
    wanted = model.out(model.norm(layers[1](layers[0](x))))
    assert model(ids).shape == (3, 5, 1, TASK_VOCAB_SIZE)
    close(model(ids)[:, :, 0], wanted)


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
    zero = f(torch.zeros_like(one))
    close(f(one + two) + zero, f(one) + f(two))
    whole = make_layer(EncoderLayer, 8, 2, 16)
    assert sum(p.numel() for p in layer.parameters()) == sum(
        p.numel() for p in whole.parameters()
    )


@pytest.mark.parametrize("kind", LAYERS)
def test_each_kind_has_the_sublayers_it_is_called_after(kind):
    model = tagger(kind, 2)
    assert len(model.layers) == 2
    assert all(m.norm_first for m in model.modules() if isinstance(m, Residual))
    norms = [m for m in model.layers.modules() if isinstance(m, nn.LayerNorm)]
    assert len(norms) == (2 if kind == "without" else 4)
    assert isinstance(model.norm, nn.LayerNorm)
    assert sum(isinstance(m, nn.Sequential) for m in model.modules()) == 2 * (
        kind == "without ReLU"
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_deep_one_ends_with_a_norm_of_its_own_in_pre_norm(norm_first):
    model = deep_tagger(3, norm_first, d_model=8)
    assert isinstance(model.norm, nn.LayerNorm) == norm_first
    assert [layer.residual.norm_first for layer in model.layers] == [norm_first] * 3
    assert model(some_ids()).shape == (3, 5, 1, TASK_VOCAB_SIZE)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="choose one of with, without ReLU, without"):
        tagger("wihtout", 2)
    with pytest.raises(ValueError, match="n_layers is 0"):
        tagger("with", 0)
    with pytest.raises(ValueError, match="n_layers is 0"):
        deep_tagger(0, norm_first=True)
