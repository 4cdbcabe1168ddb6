"""Copies of PyTorch's layers: equal in values and gradients, and what is not copied."""

from functools import partial

import pytest
import torch
from compare import close, double, numbers, randomise, same, sentences
from torch import nn
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.models.from_torch import (
    attention_from_torch,
    decoder_layer_from_torch,
    encoder_layer_from_torch,
    transformer_from_torch,
)
from attnbook.nn.masks import causal_mask, key_mask, target_mask

D, H, D_FF = 8, 2, 12
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
SRC, TGT = sentences(0, [6, 4, 1], 12), sentences(1, [5, 2, 4], 12)
LAYERS = {
    encoder_layer_from_torch: nn.TransformerEncoderLayer,
    decoder_layer_from_torch: nn.TransformerDecoderLayer,
}


def theirs_of(kind, **kwargs):
    kwargs = {"dropout": 0.0, "batch_first": True} | kwargs
    return randomise(double(kind, D, H, dim_feedforward=D_FF, **kwargs))


def stacks(norm_first=False, **kwargs):
    kwargs = {"num_encoder_layers": 2, "num_decoder_layers": 3} | kwargs
    return theirs_of(nn.Transformer, norm_first=norm_first, **kwargs)


@FORMS
def test_an_encoder_layer_gives_the_same(norm_first):
    theirs = theirs_of(nn.TransformerEncoderLayer, norm_first=norm_first)
    ours = encoder_layer_from_torch(theirs)
    (x,) = numbers(0, (3, 6, D))
    expected = theirs(x, src_key_padding_mask=SRC == PAD)
    same(ours(x, key_mask(SRC)), expected, [x], 1e-10)


@FORMS
def test_a_decoder_layer_gives_the_same(norm_first):
    theirs = theirs_of(nn.TransformerDecoderLayer, norm_first=norm_first)
    ours = decoder_layer_from_torch(theirs)
    x, memory = numbers(0, (3, 5, D), (3, 6, D))
    expected = theirs(
        x,
        memory,
        tgt_mask=~causal_mask(5),
        tgt_key_padding_mask=TGT == PAD,
        memory_key_padding_mask=SRC == PAD,
    )
    out = ours(x, memory, target_mask(TGT), key_mask(SRC))
    same(out, expected, [x, memory], 1e-10)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@FORMS
def test_a_transformer_gives_the_same(norm_first):
    """PyTorch's ends both stacks with a norm, in post-norm too; so does the copy."""
    theirs = stacks(norm_first)
    ours = transformer_from_torch(theirs, 12, 10)
    randomise(ours.source_embedding), randomise(ours.target_embedding)
    vectors = [
        ours.positions(ours.source_embedding(SRC)),
        ours.positions(ours.target_embedding(TGT.clamp(max=9))),
    ]
    decoded = theirs(
        *vectors,
        tgt_mask=~causal_mask(5),
        src_key_padding_mask=SRC == PAD,
        tgt_key_padding_mask=TGT == PAD,
        memory_key_padding_mask=SRC == PAD,
    )
    logits = ours(SRC, TGT.clamp(max=9))
    assert logits.shape == (3, 5, 10)
    tables = [ours.source_embedding.weight, ours.target_embedding.weight]
    close(logits, ours.out(decoded), 1e-10)
    same(logits, ours.out(decoded), tables, 1e-9)
    assert len(ours.encoder) == 2
    assert len(ours.decoder) == 3


def test_stacks_without_a_last_norm_get_none():
    theirs = stacks()
    theirs.encoder.norm = None
    ours = transformer_from_torch(theirs, 12)
    assert isinstance(ours.encoder_norm, nn.Identity)
    assert isinstance(ours.decoder_norm, nn.LayerNorm)
    assert ours.source_embedding is ours.target_embedding


@FORMS
@pytest.mark.parametrize("copy", LAYERS)
def test_a_copy_shares_no_memory_and_has_as_many_numbers(copy, norm_first):
    theirs = theirs_of(LAYERS[copy], norm_first=norm_first)
    before = [p.detach().clone() for p in theirs.parameters()]
    ours = copy(theirs)
    count = sum(p.numel() for p in ours.parameters())
    assert count == sum(p.numel() for p in theirs.parameters())
    for parameter in ours.parameters():
        nn.init.zeros_(parameter)
    for parameter, was in zip(theirs.parameters(), before, strict=True):
        assert torch.equal(parameter, was)


@pytest.mark.parametrize("copy", LAYERS)
def test_a_copy_is_of_the_same_type_device_form_and_mode(copy):
    for kind in ({"dtype": torch.bfloat16}, {"device": "meta"}):
        for norm_first in (True, False):
            theirs = LAYERS[copy](D, H, D_FF, norm_first=norm_first, **kind)
            for mode in (True, False):
                ours = copy(theirs.train(mode))
                assert all(m.training == mode for m in ours.modules())
                one, other = next(ours.parameters()), theirs.linear1.weight
                assert {p.dtype for p in ours.parameters()} == {other.dtype}
                assert {p.device for p in ours.parameters()} == {other.device}
                assert one.requires_grad
                forms = {
                    m.norm_first for m in ours.modules() if hasattr(m, "norm_first")
                }
                assert forms == {norm_first}


@pytest.mark.parametrize("copy", LAYERS)
def test_a_copy_drops_nothing(copy):
    """The places of dropout differ; so the one that trains alike has none."""
    ours = copy(LAYERS[copy](D, H, D_FF, dropout=0.5))
    x = torch.randn(2, 5, D, generator=torch.Generator().manual_seed(0))
    inputs = [x, x] if copy is decoder_layer_from_torch else [x]
    assert torch.equal(ours(*inputs), ours(*inputs))
    model = transformer_from_torch(theirs_of(nn.Transformer, dropout=0.5), 12)
    assert model.training
    assert torch.equal(model(SRC, TGT), model(SRC, TGT))


@pytest.mark.parametrize("copy", LAYERS)
def test_epsilon_and_an_axis_order_are_minded(copy):
    """Ours takes the batch first, whatever theirs does."""
    theirs = theirs_of(LAYERS[copy], layer_norm_eps=0.5, batch_first=False)
    x, memory = numbers(0, (4, 3, D), (4, 6, D))
    inputs = [x, memory] if copy is decoder_layer_from_torch else [x]
    turned = [y.transpose(0, 1) for y in inputs]
    close(copy(theirs)(*inputs), theirs(*turned).transpose(0, 1), 1e-10)


@pytest.mark.parametrize(
    "activation",
    [
        *(torch.relu, nn.ReLU(inplace=True), "relu", F.relu_),
        *(partial(F.relu, inplace=True), lambda x: x.clamp(min=0)),
    ],
)
def test_relu_by_any_name_is_taken(activation):
    theirs = theirs_of(nn.TransformerEncoderLayer, activation=activation)
    (x,) = numbers(0, (2, 4, D))
    close(encoder_layer_from_torch(theirs)(x), theirs(x), 1e-10)


@pytest.mark.parametrize("copy", LAYERS)
def test_what_the_paper_does_not_know_is_not_copied(copy):
    kind = LAYERS[copy]
    for other in ("gelu", F.relu6, torch.selu, nn.LeakyReLU(0.01), nn.ReLU6()):
        with pytest.raises(ValueError, match=r"activation is .*(?i:lu).*'relu'"):
            copy(kind(D, H, D_FF, activation=other))
    with pytest.raises(ValueError, match="no biases; make it with bias=True"):
        copy(kind(D, H, D_FF, bias=False))
    with pytest.raises(ValueError, match="gelu"):
        transformer_from_torch(stacks(activation="gelu"), 12)


# Attention


def test_a_copy_of_attention_has_its_dropout_and_mode():
    theirs = nn.MultiheadAttention(D, H, dropout=0.3)
    for copy in (theirs.train(), theirs.eval()):
        ours = attention_from_torch(copy)
        assert (ours.training, ours.dropout) == (copy.training, 0.3)


@pytest.mark.parametrize(
    "kind", [{"kdim": 4}, {"vdim": 4}, {"add_bias_kv": True}, {"add_zero_attn": True}]
)
def test_attention_that_the_paper_does_not_know_is_not_copied(kind):
    with pytest.raises(ValueError, match="kdim, vdim, add_bias_kv or add_zero_attn"):
        attention_from_torch(nn.MultiheadAttention(D, H, **kind))
