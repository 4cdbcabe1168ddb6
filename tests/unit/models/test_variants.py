"""A Transformer without a part, or with another: that this changes, and no more."""

import pytest
import torch
from compare import close
from torch import nn
from torch.nn import functional as F

from attnbook.core.vocabulary import BOS, PAD
from attnbook.models.transformer import Transformer
from attnbook.models.variants import RotaryTransformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from attnbook.nn.multi_head import MultiHeadAttention

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
