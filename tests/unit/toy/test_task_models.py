"""The small models of tasks: made of their parts, in each way to know positions."""

import pytest
import torch
from compare import agree, close, double, make_layer, numbers, randomise, sentences
from torch import nn

from attnbook.nn.block import Residual
from attnbook.nn.layers import EncoderLayer, ScaledEmbedding
from attnbook.nn.masks import target_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions, sinusoids
from attnbook.nn.relative import RelativeAttention
from attnbook.toy.task_models import (
    LAYERS,
    AttentionLayer,
    InductionModel,
    OneLayer,
    Tagger,
    deep_tagger,
    linear_layer,
    one_layer,
    tagger,
)
from attnbook.toy.tasks import TASK_VOCAB_SIZE, random_symbols

# One attention


@pytest.mark.parametrize("added", [None, SinusoidalPositions(8)])
def test_one_layer_is_made_of_its_parts(added):
    """Vectors, positions added, one attention, and answers: nothing else."""
    mha = double(MultiHeadAttention, 8, 2)
    layer = double(OneLayer, mha, added, vocab_size=12, n_answers=3)
    ids = sentences(0, [6, 4], 12)
    mask = target_mask(ids)
    x = layer.embedding.weight[ids]
    x = x + sinusoids(6, 8, dtype=x.dtype) if added else x
    found = mha(x, x, x, mask)  # (2, 6, 8)
    rows = layer.out.weight.view(3, 12, 8)  # K answers of V words
    by_hand = torch.einsum("bld,kvd->blkv", found, rows) + layer.out.bias.view(3, 12)
    parts = [*layer.parameters()]
    agree(layer(ids, mask), by_hand, parts)
    logits, weights = layer(ids, mask, need_weights=True)
    agree(logits, by_hand, parts)
    close(weights, mha(x, x, x, mask, need_weights=True)[1])


@pytest.mark.parametrize(
    ("positions", "attention", "added"),
    [
        ("none", MultiHeadAttention, nn.Identity),
        ("sinusoidal", MultiHeadAttention, SinusoidalPositions),
        ("learned", MultiHeadAttention, LearnedPositions),
        ("relative", RelativeAttention, nn.Identity),
        ("rotary", MultiHeadAttention, nn.Identity),
    ],
)
def test_each_way_has_its_part_and_no_other(positions, attention, added):
    made = one_layer(positions, 9, d_model=8, n_heads=4, n_answers=3)
    assert type(made.attention) is attention
    assert type(made.positions) is added
    assert (made.attention.turn is not None) == (positions == "rotary")
    assert (made.attention.d_model, made.attention.n_heads) == (8, 4)
    logits, weights = made(sentences(0, [7, 4, 1], TASK_VOCAB_SIZE), need_weights=True)
    assert logits.shape == (3, 7, 3, TASK_VOCAB_SIZE)
    assert weights.shape == (3, 4, 7, 7)


def test_max_len_sets_the_table_and_the_largest_distance():
    assert one_layer("learned", 9).positions.table.shape == (9, 64)
    assert one_layer("relative", 9).attention.relative.max_distance == 8


# A stack of layers


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


# Any one layer


def test_a_position_holds_its_symbol_and_the_one_before():
    torch.manual_seed(0)
    model, ids = InductionModel(nn.Identity(), 8), torch.tensor([[5, 6, 7]])
    last = torch.cat([model.own.weight[7], model.previous.weight[6]])
    close(model(ids)[0, 0], model.out(last), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: one_layer("absolute", 4),
            "'absolute'; choose one of none, sinusoidal",
        ),
        (lambda: tagger("wihtout", 2), "choose one of with, without ReLU, without"),
        (lambda: InductionModel(nn.Identity(), 65), "even"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
