"""What whole models refuse, and the key words of what they say then."""

import re

import pytest
import torch
from compare import make_transformer

from attnbook.core.vocabulary import EOS, PAD
from attnbook.models import (
    Bahdanau,
    Encoder,
    InitialState,
    LanguageModel,
    Luong,
    RotaryTransformer,
    StaticContext,
    Transformer,
    TransformerConfig,
    make_model,
)
from attnbook.nn.layers import DecoderLayer, EncoderStack
from attnbook.nn.positions import SinusoidalPositions
from attnbook.toy.models import load_toy_model

SIZES = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12}
CONFIG = TransformerConfig(12, **SIZES)
ids, two = torch.tensor([[4, 5, 6], [7, 8, PAD]]), torch.tensor([[4, 5]])
gap = torch.tensor([[4, 5, 6], [PAD, 4, 5]])
small, lm = make_transformer(12, 9, **SIZES), LanguageModel(CONFIG, 9).eval()
lm.W_e.data[EOS] = 0  # it does not end at once


def prompt(*rows):
    return lm.start(torch.tensor(rows))


TABLE = {
    "recurrent": [
        (lambda: Encoder(0, 3, 4), "vocab_size is 0"),
        (lambda: InitialState(9, 0), "target_vocab_size is 0"),
        (lambda: StaticContext(9, 9, summary="max"), "'max'; choose 'last' or 'mean'"),
        (lambda: Encoder(9, 3, 4)(ids[0]), "src has shape (3,)"),
        (lambda: Encoder(9, 3, 4)(ids.double()), "attnbook.data.pad makes one"),
        (lambda: Encoder(9, 3, 4)(gap), "sentence 1 has padding before its last token"),
        (lambda: InitialState(9, 9)(two, ids), "1 source but 2 target"),
        (lambda: StaticContext(9, 9)(two, ids), "1 source but 2 target"),
        (lambda: Bahdanau(9, 0), "target_vocab_size is 0"),
        (lambda: Bahdanau(9, 9, d_attention=-1), "d_attention is -1"),
        (lambda: Bahdanau(9, 9)(two, ids), "1 source but 2 target"),
        (lambda: Bahdanau(9, 9).start(0 * two), "sentence 0 has no word"),
        (lambda: Luong(9, 9, d_hidden=5), "d_hidden is 5; it must be even"),
        (lambda: Luong(9, -1), "target_vocab_size is -1"),
        (lambda: Luong(9, 9, score="additive"), "'additive'; choose among"),
        (lambda: Luong(9, 9, align="window"), "'window'; choose among"),
        (lambda: Luong(9, 9, align="local-p"), "needs a window"),
        (lambda: Luong(9, 9)(two, ids), "1 source but 2 target"),
        (lambda: Luong(9, 9, score="location")(two.repeat(1, 33), two), "66 positions"),
    ],
    "Transformer": [
        (lambda: make_transformer(0, **SIZES), "source_vocab_size is 0"),
        (lambda: make_transformer(9, 0, **SIZES), "target_vocab_size is 0"),
        (lambda: make_transformer(9, **SIZES | {"n_layers": 0}), "n_layers is 0"),
        (lambda: Transformer(14), "config is 14; "),
        (lambda: LanguageModel(14, max_len=9), "config is 14; "),
        (lambda: EncoderStack(14), "config is 14; "),
        (lambda: DecoderLayer(14), "config is 14; "),
        (lambda: small(gap, ids), "src: sentence 1 has padding before its last token"),
        (lambda: small(ids, gap), "tgt_in: sentence 1 has padding before its last"),
        (lambda: small.start(gap), "src: sentence 1 has padding before its last"),
        (lambda: small(ids, ids[:1]), "2 source but 1 target sentences"),
        (lambda: small(ids + 4, ids), "id 12 is not in 0 … 11, the 12 rows of this"),
        (lambda: small(ids, ids + 4), "id 9 is not in 0 … 8"),
        (lambda: small(ids, ids.short()), "32 bits"),
        (lambda: small.start(ids + 4), "source id 12 is not in 0 … 11"),
        (lambda: small.start(0 * ids), "source sentence 0 has no word"),
        (lambda: small.step(ids[:, 0] + 9, small.start(ids)), "id 13 is not in 0 … 8"),
        (lambda: small.step(ids[:, :1], small.start(ids)), "token has shape (2, 1)"),
        (lambda: small.step(ids[0], small.start(ids)), "3 tokens for a state of 2"),
        (
            lambda: make_transformer(9, **SIZES, positions=SinusoidalPositions(6))(
                ids, ids
            ),
            "must be (B, T, 6)",
        ),
        (lambda: RotaryTransformer(TransformerConfig(d_model=6, n_heads=2)), "even"),
        (lambda: make_model("gpt", 9), "there is no model 'gpt'"),
        (lambda: load_toy_model("gpt"), "there is no model 'gpt'"),
    ],
    "language model": [
        (lambda: lm.start([[5, 6]]), "prompt is a list"),
        (lambda: prompt([5, 12]), "prompt id 12 is not in 0 … 11"),
        (lambda: lm.start(torch.zeros(0, 3).long()), "a batch of 0 prompts"),
        (lambda: prompt([5, 6], [5, 0]), "must have one length"),
        (lambda: prompt([1, 6], [5, 6]), "or BOS after its beginning"),
        (lambda: lm.start(torch.full((1, 11), 5)), "only 9 have a vector"),
        (lambda: lm(torch.full((1, 10), 5)), "10 positions, but only 9"),
        (lambda: lm.step(torch.tensor([4]), prompt([5])), "token is [4] in the first"),
        (lambda: lm(torch.tensor([[5, 12]])), "id 12 is not in 0 … 11"),
        (lambda: lm(gap), "ids: sentence 1 has padding before"),
    ],
}


@pytest.mark.parametrize(
    ("call", "words"), [case for cases in TABLE.values() for case in cases]
)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
