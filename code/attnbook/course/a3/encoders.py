"""Encoders that are lighter than self-attention, for the toy translation task."""

from __future__ import annotations

from torch import Tensor

from attnbook.models.transformer import Transformer
from attnbook.nn.long_short import LocalBranch, LongShortAttention, real_positions
from attnbook.toy.models import toy_transformer

WIDTH = 5  # of the convolutions


def toy_lite_transformer(source_vocab_size: int, target_vocab_size: int) -> Transformer:
    """The toy task's Transformer, with long–short attention in the encoder.

    After Lite Transformer (Wu et al. 2020), which has it in the decoder as well.
    Attention keeps half of the heads, which are as wide as before.
    """
    model = toy_transformer(source_vocab_size, target_vocab_size)
    d_model, heads = model.config.d_model, model.config.n_heads // 2
    for layer in model.encoder:
        layer.attention = LongShortAttention(d_model, heads, WIDTH)
    return model


class LocalOnly(LocalBranch):
    """The local branch for all features, where an encoder has self-attention."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:
        """Rewrite each position, (B, S, D), under a padding mask."""
        return super().forward(query, real_positions(mask, query))


def toy_local_transformer(
    source_vocab_size: int, target_vocab_size: int
) -> Transformer:
    """The same with nothing but convolutions in the encoder."""
    model = toy_transformer(source_vocab_size, target_vocab_size)
    for layer in model.encoder:
        layer.attention = LocalOnly(model.config.d_model, WIDTH)
    return model
