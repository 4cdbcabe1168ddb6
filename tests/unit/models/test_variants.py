"""A Transformer without a part, or with another: that this changes, and no more."""

import pytest
import torch
from compare import close, double, make_transformer, project, randomise, sentences
from torch import nn
from torch.nn import functional as F

from attnbook.core.vocabulary import BOS, PAD
from attnbook.models.transformer import Transformer
from attnbook.models.variants import (
    RotaryTransformer,
    without_feed_forward,
    without_positions,
    without_scale,
)
from attnbook.nn.layers import FeedForward, TransformerConfig
from attnbook.nn.masks import key_mask
from attnbook.nn.multi_head import MultiHeadAttention


def model(norm_first=False, n_heads=2):
    sizes = {"d_model": 8, "n_heads": n_heads, "n_layers": 2, "d_ff": 12}
    made = double(make_transformer, 20, **sizes, dropout=0.0, norm_first=norm_first)
    return randomise(made).eval()


def parameters(module):
    return sum(p.numel() for p in module.parameters())


def test_without_positions_the_encoder_cannot_tell_the_order_of_words():
    src, order = torch.tensor([[5, 9, 7, 11, 2]]), torch.tensor([3, 0, 4, 2, 1])
    ours = model()
    before = ours.encode(src)[:, order], ours.encode(src[:, order])
    assert not torch.allclose(*before)
    without_positions(ours)
    close(ours.encode(src)[:, order], ours.encode(src[:, order]))


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_without_scale_the_scores_are_larger_by_the_root_of_d_k(n_heads):
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0)).double()
    ours = model(n_heads=n_heads)
    attention = ours.decoder[1].cross_attention
    q, k, _ = project(attention, x, x, x)
    wanted = (q @ k.mT).softmax(-1)
    without_scale(ours)
    _, weights = attention(x, x, x, need_weights=True)
    close(weights, wanted)


@pytest.mark.parametrize("norm_first", [False, True])
def test_without_feed_forward_its_parameters_are_gone_and_no_others(norm_first):
    ours = model(norm_first)
    all_of_it = parameters(ours)
    without_feed_forward(ours)
    one = parameters(FeedForward(8, 12)) + 2 * 8  # its norm's gain and bias
    assert parameters(ours) == all_of_it - 4 * one
    assert not any(isinstance(m, FeedForward) for m in ours.modules())


def test_without_feed_forward_a_layer_is_its_attention():
    ours = model()
    without_feed_forward(ours)
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0)).double()
    layer = ours.encoder[0]
    found = layer.norm_1(x + layer.attention(x, x, x))
    close(layer(x), found)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(
    "without", [without_positions, without_scale, without_feed_forward]
)
def test_step_by_step_they_say_what_they_say_at_once(without, norm_first):
    ours = model(norm_first)
    whole = ours(src := sentences(0, (5, 3), 20), tgt := sentences(1, (4, 4), 20))
    without(ours)
    at_once = ours(src, tgt)
    assert not torch.allclose(at_once, whole)
    state = ours.start(src)
    for i in range(tgt.shape[1]):
        logits, state = ours.step(tgt[:, i], state)
        close(logits, at_once[:, i])


# Rotary

SIZES = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 24, "dropout": 0.0}
SRC = torch.tensor([[5, 7, 4, 6, 8, 2], [8, 9, 2, PAD, PAD, PAD]])
TGT = torch.tensor([[BOS, 4, 6, 3, 7], [BOS, 8, 5, PAD, PAD]])


def rotary_model(norm_first=True, **sizes):
    torch.manual_seed(0)
    config = TransformerConfig(12, 11, **SIZES | sizes, norm_first=norm_first)
    return RotaryTransformer(config).double().eval()


@pytest.mark.parametrize("norm_first", [False, True])
def test_at_position_0_it_is_the_transformer_without_positions(norm_first):
    rotary = rotary_model(norm_first)
    plain = Transformer(rotary.config, positions=nn.Identity()).double().eval()
    plain.load_state_dict(rotary.state_dict())
    src, tgt = SRC[:, :1], TGT[:, :1]
    close(rotary(src, tgt), plain(src, tgt))
    assert not torch.allclose(rotary(SRC, TGT), plain(SRC, TGT), atol=1e-3)


def test_only_distances_count():
    """Three hidden places on the left move all others, and change nothing."""
    rotary = rotary_model()
    x = rotary.source_embedding(SRC)  # (2, 6, D)
    moved, hidden = F.pad(x, (0, 0, 3, 0), value=9.0), F.pad(SRC, (3, 0), value=PAD)
    for layer in rotary.encoder:
        x, moved = layer(x, key_mask(SRC)), layer(moved, key_mask(hidden))
    close(moved[:, 3:], x)


def test_steps_equal_all_at_once_and_leave_the_state_alone():
    rotary = rotary_model()
    logits, state = rotary(SRC, TGT), rotary.start(SRC)
    for t, token in enumerate(TGT.T):
        found, after = rotary.step(token, state)
        close(rotary.step(token, state)[0], found)
        real = TGT[:, t] != PAD
        close(found[real], logits[:, t][real])
        state = after


def test_attention_dropout_reaches_every_rotary_attention():
    attentions = [
        module
        for module in rotary_model(attention_dropout=0.3).modules()
        if isinstance(module, MultiHeadAttention)
    ]
    assert {attention.dropout for attention in attentions} == {0.3}
