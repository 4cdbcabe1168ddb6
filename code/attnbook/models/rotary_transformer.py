"""A Transformer whose self-attentions rotate queries and keys: Su et al. 2024."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_source
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from attnbook.nn.rotary import RotaryAttention


class RotaryState(NamedTuple):
    """What the next step reads."""

    memory: Tensor  # (B, S, D)
    source_mask: Tensor  # (B, 1, 1, S)
    ids: Tensor  # (B, T), the target tokens so far


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
        super().__init__(config, positions=nn.Identity())
        sizes = config.d_model, config.n_heads
        dropout = config.attention_dropout
        for layer in self.encoder:
            layer.attention = RotaryAttention(*sizes, dropout=dropout)
        for layer in self.decoder:
            layer.self_attention = RotaryAttention(*sizes, dropout=dropout)

    def start(self, src: Tensor) -> RotaryState:
        """Read the source, (B, S), before decoding token by token.

        Raises:
            ValueError: As :meth:`~attnbook.models.transformer.Transformer.start`.
        """
        check_source(src, self.source_embedding.num_embeddings)
        mask = key_mask(src)
        return RotaryState(self.encode(src, mask), mask, src[:, :0])

    def step(self, token: Tensor, state: RotaryState) -> tuple[Tensor, RotaryState]:
        """Read one token more, (B,), and predict the next: logits, (B, V).

        Without a cache: all target tokens are read again.
        """
        ids = torch.cat([state.ids, token[:, None]], dim=1)  # (B, T)
        logits = self.decode(ids, state.memory, state.source_mask)[:, -1]
        return logits, state._replace(ids=ids)
