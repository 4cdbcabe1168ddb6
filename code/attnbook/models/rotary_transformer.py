"""A Transformer whose self-attentions rotate queries and keys: Su et al. 2024."""

from __future__ import annotations

from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.positions import NoPositions
from attnbook.nn.rotary import RotaryAttention


class RotaryTransformer(Transformer):
    """The Transformer with RoPE in place of sinusoids.

    Nothing is added to the embeddings. Every self-attention is a
    :class:`~attnbook.nn.rotary.RotaryAttention`; cross-attention has no positions of
    its own, because a distance between source and target has no meaning.

    Args:
        config: The sizes.

    Raises:
        ValueError: If the width of a head is odd.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__(config, positions=NoPositions())
        sizes = config.d_model, config.n_heads
        dropout = config.attention_dropout
        for layer in self.encoder:
            layer.attention = RotaryAttention(*sizes, dropout=dropout)
        for layer in self.decoder:
            layer.self_attention = RotaryAttention(*sizes, dropout=dropout)
