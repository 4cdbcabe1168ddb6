"""Transformers with one of their parts exchanged, or taken away.

What takes a part away changes a model that is made, in place, before it is trained.
Training, ``start`` and ``step`` then go without the part; what is left keeps its names,
so that weights are stored and loaded as always.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.models.transformer import Transformer
from attnbook.nn.layers import DecoderLayer, EncoderLayer, TransformerConfig
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import NoPositions, check_even
from attnbook.nn.rotary import Rotary


class RotaryTransformer(Transformer):
    """The Transformer with RoPE in place of sinusoids: Su et al. 2024.

    Nothing is added to the embeddings. Every self-attention turns queries and keys
    (:class:`~attnbook.nn.rotary.Rotary`); cross-attention has no positions of its own,
    because a distance between source and target has no meaning.

    Args:
        config: The sizes.

    Raises:
        ValueError: If the width of a head is odd.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__(config, positions=NoPositions())
        check_even(config.d_model // config.n_heads)
        for layer in self.encoder:
            layer.attention = _rotary(config)
        for layer in self.decoder:
            layer.self_attention = _rotary(config)


def _rotary(config: TransformerConfig) -> MultiHeadAttention:
    dropout = config.attention_dropout
    return MultiHeadAttention(
        config.d_model, config.n_heads, turn=Rotary(), dropout=dropout
    )


def without_positions(model: Transformer) -> None:
    """Leave word vectors as they are: the encoder cannot tell the order of words.

    The decoder still can a little: by its causal mask each position attends to one
    more.
    """
    model.positions = NoPositions()


def without_scale(model: Transformer) -> None:
    """Leave the scores as large as the dot products are, √d_k times the usual."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.scale = 1.0


def without_feed_forward(model: Transformer) -> None:
    """Take the feed-forward sub-layer out of each layer, and its norm too.

    What stays is a residual connection to which nothing is added.
    """
    for module in model.modules():
        if isinstance(module, EncoderLayer):
            module.feed_forward, module.norm_2 = _Zeros(), nn.Identity()
        if isinstance(module, DecoderLayer):
            module.feed_forward, module.norm_3 = _Zeros(), nn.Identity()


class _Zeros(nn.Module):
    """Stands where the feed-forward network was, and adds nothing."""

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros, (..., D)."""
        return torch.zeros_like(x)
