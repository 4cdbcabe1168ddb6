"""The small models of tasks: made of their parts, in each way to know positions."""

import pytest
import torch
from compare import agree, close, double, randomise, sentences
from torch import nn

from attnbook.nn.layers import ScaledEmbedding
from attnbook.nn.masks import target_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions, sinusoids
from attnbook.nn.relative import RelativeAttention
from attnbook.toy.task_models import InductionModel, OneLayer, Tagger, one_layer
from attnbook.toy.tasks import TASK_VOCAB_SIZE, random_symbols

# One attention


@pytest.mark.parametrize("added", [None, SinusoidalPositions(8)])
def test_one_layer_is_made_of_its_parts(added):
    """Vectors, positions added, one attention, and answers: nothing else."""
    mha = double(MultiHeadAttention, 8, 2)
    layer = double(OneLayer, mha, added, n_answers=3)
    ids = sentences(0, [6, 4], TASK_VOCAB_SIZE)
    mask = target_mask(ids)
    x = layer.embedding.weight[ids]
    x = x + sinusoids(6, 8, dtype=x.dtype) if added else x
    found = mha(x, x, x, mask)  # (2, 6, 8)
    rows = layer.out.weight.view(3, TASK_VOCAB_SIZE, 8)  # K answers of V words
    by_hand = torch.einsum("bld,kvd->blkv", found, rows) + layer.out.bias.view(3, -1)
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


# Any one layer


def test_a_position_holds_its_symbol_and_the_one_before():
    torch.manual_seed(0)
    model, ids = InductionModel(nn.Identity(), 8), torch.tensor([[5, 6, 7]])
    last = torch.cat([model.own.weight[7], model.previous.weight[6]])
    close(model(ids)[0, 0], model.out(last), atol=1e-6)
