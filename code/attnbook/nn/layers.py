"""The Transformer's layers: attention and a feed-forward network, joined by residuals.

Each sub-layer is joined in one of two forms, post-norm and pre-norm, which
:func:`~attnbook.nn.residual.add_and_norm` writes as on a whiteboard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_dropout, check_sizes
from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import PreparedMask
from attnbook.nn.multi_head import KeysValues, MultiHeadAttention
from attnbook.nn.residual import add_and_norm


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a Transformer; the defaults are the paper's base model (table 3).

    Raises:
        ValueError: If a size is not a positive integer, or a dropout not in [0, 1).
    """

    source_vocab_size: int = 37_000
    #: V. None: both languages have one vocabulary, and one table serves embeddings and
    #: output.
    target_vocab_size: int | None = None
    d_model: int = 512  #: Width D.
    n_heads: int = 8  #: Number H of heads.
    n_layers: int = 6  #: Of the encoder, and of the decoder.
    d_ff: int = 2048  #: Width of the feed-forward networks' hidden layers.
    dropout: float = 0.1  #: Of sub-layers' results, and of embedding plus position.
    attention_dropout: float = 0.0  #: Of attention weights; paper, section 6.3.
    norm_first: bool = False  #: Pre-norm; else the paper's post-norm.

    def __post_init__(self):
        others = ("dropout", "attention_dropout", "norm_first")
        sizes = {name: n for name, n in vars(self).items() if name not in others}
        check_sizes(**{name: n for name, n in sizes.items() if n is not None})
        check_dropout(self.dropout)
        check_dropout(self.attention_dropout)


class FeedForward(nn.Module):
    r"""The same network at each position: :math:`\max(0, x W_1 + b_1) W_2 + b_2`.

    Equation 2 of Vaswani et al. 2017. It mixes features, not positions.

    Args:
        d_model: Width D of what comes in and goes out.
        d_ff: Width of the hidden layer; the paper has 4 D.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        check_sizes(d_model=d_model, d_ff=d_ff)
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)
        for linear in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        return self.W_2(self.W_1(x).relu())


class ScaledEmbedding(nn.Embedding):
    """Word vectors whose components start with variance 1/D, multiplied by √D.

    Vaswani et al. 2017, section 3.4. So the table can be the output layer's as well:
    small there, and next to the positions as large as they are.

    Args:
        vocab_size: Number of tokens V, ``PAD`` included; its vector starts at 0, and no
            look-up changes it.
        d_model: Width D.
    """

    def __init__(self, vocab_size: int, d_model: int):
        check_sizes(vocab_size=vocab_size, d_model=d_model)
        super().__init__(vocab_size, d_model, padding_idx=PAD)

    def reset_parameters(self) -> None:
        """Initialise the table: N(0, 1/D), and zeros for ``PAD``."""
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)
        with torch.no_grad():
            self.weight[PAD] = 0

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ids, (B, T): vectors, (B, T, D)."""
        return super().forward(ids) * math.sqrt(self.embedding_dim)


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model, config.n_heads, dropout=config.attention_dropout
    )


class EncoderLayer(nn.Module):
    """Two sub-layers: self-attention, feed-forward."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.attention = _attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x: Tensor, mask: Tensor | PreparedMask | None = None) -> Tensor:
        """Rewrite each position: (B, S, D), under a mask that fits (B, H, S, S)."""

        def attend(y: Tensor) -> Tensor:
            return self.attention(y, y, y, mask)

        x = add_and_norm(self, x, attend, self.norm_1)
        return add_and_norm(self, x, self.feed_forward, self.norm_2)

    def step(self, x: Tensor, kept: KeysValues) -> tuple[Tensor, KeysValues]:
        """Rewrite one more position, as ``forward`` does with a causal mask.

        Args:
            x: (B, 1, D).
            kept: Keys and values of the positions before it; they are not changed.

        Returns:
            (B, 1, D), and the keys and values with those of this position.
        """

        def attend(y: Tensor) -> Tensor:
            nonlocal kept
            kept = kept.extend(self.attention.keys_values(y, y))
            return self.attention(y, kept=kept)

        x = add_and_norm(self, x, attend, self.norm_1)
        return add_and_norm(self, x, self.feed_forward, self.norm_2), kept


class LayerCache(NamedTuple):
    """What a decoder layer keeps from step to step."""

    target: KeysValues  # of the tokens generated so far
    source: KeysValues  # of the source, made once a sentence


class DecoderLayer(nn.Module):
    """Three sub-layers: masked self-attention, cross-attention, feed-forward."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.self_attention = _attention(config)
        self.cross_attention = _attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.norm_3 = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | PreparedMask | None = None,
        memory_mask: Tensor | PreparedMask | None = None,
    ) -> Tensor:
        """Rewrite each target position, all at once.

        Args:
            x: (B, T, D).
            memory: What the encoder returned, (B, S, D).
            mask: Of the self-attention, broadcast to (B, H, T, T).
            memory_mask: Of the cross-attention, broadcast to (B, H, T, S).

        Returns:
            (B, T, D).
        """

        def attend(y: Tensor) -> Tensor:
            return self.self_attention(y, y, y, mask)

        def read(y: Tensor) -> Tensor:
            return self.cross_attention(y, memory, memory, memory_mask)

        x = add_and_norm(self, x, attend, self.norm_1)
        x = add_and_norm(self, x, read, self.norm_2)
        return add_and_norm(self, x, self.feed_forward, self.norm_3)

    def start(self, memory: Tensor) -> LayerCache:
        """Make the keys and values of the source, and none of the target yet."""
        source = self.cross_attention.keys_values(memory, memory)
        nothing = source.k[:, :, :0]  # (B, H, 0, d_k)
        return LayerCache(KeysValues(nothing, nothing), source)

    def step(
        self,
        x: Tensor,
        cache: LayerCache,
        memory_mask: Tensor | PreparedMask | None = None,
    ) -> tuple[Tensor, LayerCache]:
        """Rewrite one more target position, as ``forward`` does with a causal mask.

        Args:
            x: (B, 1, D).
            cache: Of the positions before it; it is not changed.
            memory_mask: As in ``forward``, with T = 1.

        Returns:
            (B, 1, D), and the cache with this position.
        """
        target, source = cache

        def attend(y: Tensor) -> Tensor:
            nonlocal target
            target = target.extend(self.self_attention.keys_values(y, y))
            # All these keys are of this position and those before it: no causal mask.
            return self.self_attention(y, kept=target)

        def read(y: Tensor) -> Tensor:
            return self.cross_attention(y, kept=source, mask=memory_mask)

        x = add_and_norm(self, x, attend, self.norm_1)
        x = add_and_norm(self, x, read, self.norm_2)
        x = add_and_norm(self, x, self.feed_forward, self.norm_3)
        return x, LayerCache(target, source)
