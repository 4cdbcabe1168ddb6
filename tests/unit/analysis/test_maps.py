"""Maps of attention: they hold what the model weighs, and it stays as it was."""

import pytest
import torch
from compare import (
    close,
    decoder_of,
    double,
    make_layer,
    make_transformer,
    numbers,
    randomise,
    sentences,
)

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.maps import attention_maps, cross_weights
from attnbook.core.vocabulary import BOS, PAD
from attnbook.nn.layers import EncoderLayer
from attnbook.nn.masks import key_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch

SRC, TGT = sentences(0, [6, 4, 1, 3], 12), sentences(1, [5, 2, 4, 1], 12)
NAMES = [
    "encoder.0.attention",
    "encoder.1.attention",
    "decoder.0.self_attention",
    "decoder.0.cross_attention",
    "decoder.1.self_attention",
    "decoder.1.cross_attention",
]


@pytest.fixture
def model():
    return decoder_of("pre-norm", 12)


def test_every_attention_is_named_in_the_order_of_the_calls(model):
    maps = attention_maps(model, SRC, TGT)
    assert list(maps) == NAMES
    for name, weights in maps.items():
        t, s = (5 if "decoder" in name else 6), (5 if "self" in name else 6)
        assert weights.shape == (4, 2, t, s)
        assert not weights.requires_grad


def test_the_model_stays_as_it_was(model):
    before = model(SRC, TGT)
    attention_maps(model, SRC, TGT)
    assert torch.equal(model(SRC, TGT), before)
    assert not any(m._forward_hooks for m in model.modules())
    with pytest.raises(ValueError, match="4 source but 2 target"):
        attention_maps(model, SRC, TGT[:2])
    assert not any(m._forward_hooks for m in model.modules())


def test_the_weights_are_those_that_made_the_output():
    """Of one attention, whatever is made of it; and of the one in a layer."""
    (x,), mask = numbers(0, (4, 6, 8)), key_mask(SRC)
    for kind in (MultiHeadAttention, WrongSplit):
        mha = randomise(double(kind, 8, 2)).eval()
        _, wanted = mha(x, x, x, mask, need_weights=True)
        found = attention_maps(mha, x, x, x, mask)
        assert list(found) == [""]
        close(found[""], wanted)
    layer = randomise(double(make_layer, EncoderLayer, 8, 2, 12)).eval()
    _, wanted = layer.attention(x, x, x, mask, need_weights=True)
    close(attention_maps(layer, x, mask)["attention"], wanted)


@pytest.mark.parametrize("norm_first", [False, True])
def test_cross_weights_are_the_mean_over_layers_and_heads(norm_first):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 3, "d_ff": 12}
    words = len(SOURCE), len(TARGET)
    model = double(make_transformer, *words, **sizes, norm_first=norm_first)
    randomise(model).eval()
    pairs = [*held_out_pairs(1, 2), *held_out_pairs(2, 1)]
    batch = make_batch(pairs)
    found = cross_weights(model, pairs)
    assert found.shape == (3, batch.tgt_in.shape[1], batch.src.shape[1])
    maps = attention_maps(model, batch.src, batch.tgt_in)
    total = sum(
        maps[f"decoder.{i}.cross_attention"][:, h] for i in range(3) for h in range(2)
    )
    close(found, total / 6)
    close(found.sum(-1), torch.ones(found.shape[:2]).double())
    assert not (found * (batch.src == PAD)[:, None]).any()
    assert batch.tgt_in[0, 0] == BOS  # the right words before each step
