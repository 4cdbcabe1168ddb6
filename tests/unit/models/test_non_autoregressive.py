"""All target tokens at once: what they may depend on, and the length."""

import pytest
import torch
from compare import close, randomise, sentences

from attnbook.core.vocabulary import BOS, PAD, UNK
from attnbook.models.non_autoregressive import NonAutoregressive
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask

CONFIG = TransformerConfig(12, 9, d_model=8, n_heads=2, n_layers=2, d_ff=12, dropout=0)
SRC, TGT = sentences(0, (5, 3), 12), sentences(1, (4, 2), 9)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return randomise(NonAutoregressive(CONFIG)).double().eval()


def test_it_is_a_transformer_that_reads_blanks(model):
    """The plain sum over layers, each blank seeing all blanks of its sentence."""
    inner = model.transformer
    memory = inner.encode(SRC)
    blanks = torch.tensor([[BOS] * 4, [BOS] * 2 + [PAD] * 2])
    y = inner.positions(inner.target_embedding(blanks))
    for layer in inner.decoder:
        y = layer(y, memory, key_mask(blanks), key_mask(SRC))
    close(model(SRC, TGT), inner.out(inner.decoder_norm(y)))


def test_it_translates_in_one_pass(model):
    calls = []
    handle = model.transformer.decoder[0].register_forward_hook(
        lambda *_: calls.append(1)
    )
    out = model.translate(SRC, torch.tensor([4, 2]))
    handle.remove()
    assert len(calls) == 1
    logits = model(SRC, TGT).detach()
    logits[..., [PAD, BOS, UNK]] = -torch.inf
    assert torch.equal(out, logits.argmax(-1).masked_fill(TGT == PAD, PAD))
