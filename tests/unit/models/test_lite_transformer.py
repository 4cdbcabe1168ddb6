"""The Transformer with a lighter encoder."""

import dataclasses

import pytest
from compare import close, randomise, sentences

from attnbook.models.lite_transformer import make_lite_transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.long_short import LongShortAttention

CONFIG = TransformerConfig(12, 9, d_model=8, n_heads=2, n_layers=2, d_ff=12, dropout=0)


def test_the_encoder_alone_is_lighter():
    model = make_lite_transformer(CONFIG, width=3)
    assert all(isinstance(x.attention, LongShortAttention) for x in model.encoder)
    assert all(x.attention.attention.n_heads == 1 for x in model.encoder)
    assert not any(
        isinstance(m, LongShortAttention) for x in model.decoder for m in x.modules()
    )


def test_padding_changes_no_prediction():
    model = randomise(make_lite_transformer(CONFIG, width=3)).double().eval()
    src, tgt = sentences(0, (5, 3), 12), sentences(1, (4, 4), 9)
    close(model(src, tgt)[1:], model(src[1:, :3], tgt[1:]))


def test_heads_must_be_even():
    config = TransformerConfig(12, 9, d_model=9, n_heads=3, d_ff=12)
    with pytest.raises(ValueError, match="3 heads"):
        make_lite_transformer(config, width=3)


def test_attention_dropout_reaches_its_attention():
    config = dataclasses.replace(CONFIG, attention_dropout=0.3)
    model = make_lite_transformer(config, width=3)
    assert {layer.attention.attention.dropout for layer in model.encoder} == {0.3}
