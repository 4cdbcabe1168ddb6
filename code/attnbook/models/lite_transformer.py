"""A Transformer with a lighter encoder, after Lite Transformer (Wu et al. 2020)."""

from __future__ import annotations

from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig, check_config
from attnbook.nn.long_short import LongShortAttention


def make_lite_transformer(config: TransformerConfig, width: int) -> Transformer:
    """Make a Transformer with long–short attention in the encoder.

    The paper has it in the decoder as well. Attention keeps half of the heads, which
    are as wide as before.

    Args:
        config: The sizes; an even number of heads.
        width: Of the convolutions: odd.

    Raises:
        ValueError: If the number of heads is odd, or the width even.
    """
    check_config(config)
    if config.n_heads % 2:
        raise ValueError(
            f"{config.n_heads} heads cannot be halved; give an even number"
        )
    model = Transformer(config)
    for layer in model.encoder:
        layer.attention = LongShortAttention(
            *(config.d_model, config.n_heads // 2, width),
            dropout=config.attention_dropout,
        )
    return model
