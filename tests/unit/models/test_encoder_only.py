"""Encoder-only models: everything is seen but padding; one output layer each."""

import pytest
from compare import agree, close, double, randomise, sentences
from torch import nn

from attnbook.models.encoder_only import (
    MaskedLanguageModel,
    SequenceTagger,
    TextEncoder,
)
from attnbook.nn.layers import TransformerConfig

WORDS, LENGTHS = 12, (6, 4, 1)
SIZES = {"d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12}


@pytest.fixture
def ids():
    return sentences(0, LENGTHS, WORDS)


@pytest.fixture(params=[False, True], ids=["post", "pre"])
def encoder(request):
    config = TransformerConfig(WORDS, norm_first=request.param, **SIZES)
    return randomise(double(TextEncoder, config, 9)).eval()


def test_it_is_embeddings_and_layers_without_a_mask(encoder, ids):
    one = ids[:1]
    h = nn.functional.one_hot(one, WORDS).double() @ encoder.W_e + encoder.W_p[:6]
    for layer in encoder.stack.layers:
        h = layer(h)
    agree(encoder(one), encoder.stack.norm(h), encoder.parameters())


def test_padding_changes_nothing(encoder, ids):
    out = encoder(ids)
    for row, length in enumerate(LENGTHS):
        close(out[row, :length], encoder(ids[row : row + 1, :length])[0])


def test_hidden_words_are_guessed_with_the_embedding(encoder, ids):
    model = MaskedLanguageModel(encoder)
    close(model(ids), encoder(ids) @ encoder.W_e.T)
    assert len([*model.parameters()]) == len([*encoder.parameters()])


def test_a_tagger_has_an_output_layer_of_its_own(encoder, ids):
    model = SequenceTagger(encoder, 5).double()
    close(model(ids), model.out(encoder(ids)))
    assert model(ids).shape == (3, 6, 5)
    model(ids).sum().backward()
    assert encoder.W_e.grad.abs().sum() > 0
