"""The Transformer with one of its parts exchanged."""

from __future__ import annotations

from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
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
