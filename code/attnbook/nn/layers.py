"""The Transformer's layers: attention and a feed-forward network, joined by residuals.

Each sub-layer is written as on a whiteboard, in both forms: post-norm,
LayerNorm(x + Dropout(sublayer(x))), is that of Vaswani et al. 2017, sections 3.1 and
5.4; pre-norm, x + Dropout(sublayer(LayerNorm(x))), leaves the skip connection through
all layers free.
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


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a Transformer; the defaults are the paper's base model (table 3).

    Attributes:
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number V of target tokens. None: both languages have one
            vocabulary, and one matrix serves both embeddings and the output.
        d_model: Width D.
        n_heads: Number H of heads.
        n_layers: Number of encoder layers, and of decoder layers.
        d_ff: Width of the feed-forward networks' hidden layers.
        dropout: Share of features set to 0 in training: of each sub-layer's result,
            and of the sums of embedding and position.
        attention_dropout: Of the attention weights; the paper names none.
        norm_first: False is the paper's post-norm. True is pre-norm, which ends each
            stack with a norm of its own.

    Raises:
        ValueError: If a size is not a positive integer, or a dropout not in [0, 1).
    """

    source_vocab_size: int = 37_000
    target_vocab_size: int | None = None
    d_model: int = 512
    n_heads: int = 8
    n_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    attention_dropout: float = 0.0
    norm_first: bool = False

    def __post_init__(self):
        check_sizes(source_vocab_size=self.source_vocab_size)
        if self.target_vocab_size is not None:
            check_sizes(target_vocab_size=self.target_vocab_size)
        check_sizes(d_model=self.d_model, n_heads=self.n_heads)
        check_sizes(n_layers=self.n_layers, d_ff=self.d_ff)
        check_dropout(self.dropout)
        check_dropout(self.attention_dropout)


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    r"""Give the features of each position mean 0 and variance 1, then gain and bias.

    :math:`(x - \mu) / \sqrt{\sigma^2 + \epsilon} \cdot g + b`, Ba et al. 2016. Mean
    and variance are those of one position's D features; the variance divides by D, and
    ε stands inside the root. ``nn.LayerNorm`` does the same in one kernel, and is
    what the layers below use.

    Args:
        x: (..., D).
        gain: g, (D,).
        bias: b, (D,).
        eps: ε, so that a position of equal features is not divided by 0.

    Returns:
        (..., D).
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + eps) * gain + bias


class FeedForward(nn.Module):
    r"""The same network at each position: :math:`\max(0, x W_1 + b_1) W_2 + b_2`.

    Equation 2 of Vaswani et al. 2017. It mixes the features of a position, and no
    positions.

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

    Vaswani et al. 2017, section 3.4. The table can so be the output layer's as well:
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
    """Two sub-layers: self-attention, feed-forward.

    Args:
        config: Sizes, dropout and the place of the norm.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.attention = _attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x: Tensor, mask: Tensor | PreparedMask | None = None) -> Tensor:
        """Rewrite each position.

        Args:
            x: (B, S, D).
            mask: True where a position may attend, broadcast to (B, H, S, S).

        Returns:
            (B, S, D).
        """
        if self.norm_first:
            y = self.norm_1(x)
            x = x + self.dropout(self.attention(y, y, y, mask))
            return x + self.dropout(self.feed_forward(self.norm_2(x)))
        x = self.norm_1(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


class LayerCache(NamedTuple):
    """What a decoder layer keeps from step to step."""

    target: KeysValues  # of the tokens generated so far
    source: KeysValues  # of the source, made once a sentence


class DecoderLayer(nn.Module):
    """Three sub-layers: masked self-attention, cross-attention, feed-forward.

    Args:
        config: Sizes, dropout and the place of the norm.
    """

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
            mask: True where a target position may attend to another, broadcast to
                (B, H, T, T).
            memory_mask: True where it may attend to the source, broadcast to
                (B, H, T, S).

        Returns:
            (B, T, D).
        """
        own, cross = self.self_attention, self.cross_attention
        if self.norm_first:
            y = self.norm_1(x)
            x = x + self.dropout(own(y, y, y, mask))
            y = self.norm_2(x)
            x = x + self.dropout(cross(y, memory, memory, memory_mask))
            return x + self.dropout(self.feed_forward(self.norm_3(x)))
        x = self.norm_1(x + self.dropout(own(x, x, x, mask)))
        x = self.norm_2(x + self.dropout(cross(x, memory, memory, memory_mask)))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))

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
            cache: Of the positions before it.
            memory_mask: As in ``forward``, with T = 1.

        Returns:
            (B, 1, D), and the cache with this position.
        """
        own, cross = self.self_attention, self.cross_attention
        source = cache.source
        # All keys are of this position and those before it: no causal mask is needed.
        if self.norm_first:
            y = self.norm_1(x)
            target = cache.target.extend(own.keys_values(y, y))
            x = x + self.dropout(own(y, kept=target))
            y = self.norm_2(x)
            x = x + self.dropout(cross(y, kept=source, mask=memory_mask))
            x = x + self.dropout(self.feed_forward(self.norm_3(x)))
        else:
            target = cache.target.extend(own.keys_values(x, x))
            x = self.norm_1(x + self.dropout(own(x, kept=target)))
            x = self.norm_2(x + self.dropout(cross(x, kept=source, mask=memory_mask)))
            x = self.norm_3(x + self.dropout(self.feed_forward(x)))
        return x, LayerCache(target, source)
