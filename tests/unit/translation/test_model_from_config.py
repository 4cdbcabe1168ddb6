"""Models by name: their kind and size, and that all of each is trained."""

import pytest
import torch
from torch import nn

from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.registry import MODELS, RECURRENT
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.models.transformer import Transformer
from attnbook.translation.configs import config
from attnbook.translation.models import model_from_config

SRC, TGT = torch.tensor([[5, 6, 2], [7, 2, 0]]), torch.tensor([[1, 8], [1, 9]])
SMALL = {"d_model": 16, "d_ff": 24, "n_layers": 1, "n_heads": 2}


def made(name, **changes):
    torch.manual_seed(0)
    return model_from_config(config("toy", model=name, **SMALL | changes), 20)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("transformer", Transformer),
        ("initial_state", InitialState),
        ("static_context", StaticContext),
        ("bahdanau", Bahdanau),
        ("luong", Luong),
    ],
)
def test_names_are_those_of_the_course(name, kind):
    model = made(name)
    assert type(model) is kind
    assert model(SRC, TGT).shape == (2, 2, 20)
    assert name in MODELS
    assert len(MODELS) == 5


@pytest.mark.parametrize("name", MODELS)
def test_every_weight_is_trained(name):
    """Several processes would wait for one that has no gradient."""
    model = made(name)
    model(SRC, TGT).square().sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None


@pytest.mark.parametrize("name", MODELS)
def test_dropout_is_in_training_alone(name):
    model = made(name, dropout=0.5)
    assert not torch.equal(model(SRC, TGT), model(SRC, TGT))
    model.eval()
    assert torch.equal(model(SRC, TGT), model(SRC, TGT))
    calm = made(name, dropout=0.0)
    assert torch.equal(calm(SRC, TGT), calm(SRC, TGT))
    assert torch.equal(calm(SRC, TGT), model(SRC, TGT))


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_models_dropout_is_at_three_positions(name):
    """Word vectors of both sides, and what the last layer reads."""
    model = made(name, dropout=0.5)
    outs = []
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda module, given, out: outs.append(out))
    model(SRC[:, :1], TGT[:, :1])
    assert [out.shape[-1] for out in outs] == [16, 16, 16]
    for out in outs:
        assert 0.1 < (out == 0).float().mean() < 0.95


def test_the_transformer_is_of_the_configs_size():
    model = made("transformer", d_model=16, d_ff=40, n_layers=3, norm_first=True)
    assert len(model.encoder) == len(model.decoder) == 3
    assert model.encoder[0].feed_forward.W_1.weight.shape == (40, 16)
    assert model.encoder[0].attention.n_heads == 2
    assert isinstance(model.encoder_norm, nn.LayerNorm)
    assert isinstance(made("transformer").encoder_norm, nn.Identity)
    assert model.out.weight is model.source_embedding.weight
    assert model.dropout.p == 0.1
