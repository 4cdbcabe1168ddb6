"""What stands around attention: residuals, norms, one network at each place; layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import PAD
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.scaled_dot_product import check_dropout


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    r"""Give the numbers of each place mean 0 and variance 1, then gain and bias.

    :math:`(x - \mu) / \sqrt{\sigma^2 + \epsilon} \cdot g + b`, Ba et al. 2016. Mean
    and variance are those of one place's D numbers; the variance divides by D, and
    ε stands inside the root. ``nn.LayerNorm`` does the same in one kernel, and is
    what the layers below use.

    Args:
        x: (..., D).
        gain: g, (D,).
        bias: b, (D,).
        eps: ε, so that a place of equal numbers is not divided by 0.

    Returns:
        (..., D).
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + eps) * gain + bias


class Residual(nn.Module):
    """Adds what a sub-layer found to what went into it.

    Post-norm, LayerNorm(x + Dropout(sublayer(x))), is the form of Vaswani et al. 2017,
    sections 3.1 and 5.4. Pre-norm, x + Dropout(sublayer(LayerNorm(x))), leaves the way
    of x through all layers free.

    Args:
        d_model: Width D.
        dropout: Share of the sub-layer's numbers set to 0 in training.
        norm_first: Whether to take pre-norm.
    """

    def __init__(self, d_model: int, dropout: float = 0.0, norm_first: bool = False):
        super().__init__()
        check_sizes(d_model=d_model)
        check_dropout(dropout)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply the sub-layer, which keeps the shape (B, T, D), and what is around."""
        return self.after(x, sublayer(self.before(x)))

    def before(self, x: Tensor) -> Tensor:
        """Make what the sub-layer gets."""
        return self.norm(x) if self.norm_first else x

    def after(self, x: Tensor, found: Tensor) -> Tensor:
        """Add what the sub-layer found."""
        x = x + self.dropout(found)
        return x if self.norm_first else self.norm(x)


class FeedForward(nn.Module):
    r"""The same network for each place: :math:`\max(0, x W_1 + b_1) W_2 + b_2`.

    Equation 2 of Vaswani et al. 2017. It mixes the numbers of a place, and no places.

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
    """Word vectors whose numbers start with variance 1/D, multiplied by √D.

    Vaswani et al. 2017, section 3.4. The table can so be the output layer's as well:
    small there, and beside the positions as large as they are.

    Args:
        n_words: Number of words V, ``PAD`` included; its vector starts at 0, and no
            look-up changes it.
        d_model: Width D.
    """

    def __init__(self, n_words: int, d_model: int):
        check_sizes(n_words=n_words, d_model=d_model)
        super().__init__(n_words, d_model, padding_idx=PAD)

    def reset_parameters(self) -> None:
        """Draw the table anew: N(0, 1/D), and zeros for ``PAD``."""
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)
        with torch.no_grad():
            self.weight[PAD] = 0

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ids, (B, T): vectors, (B, T, D)."""
        return super().forward(ids) * math.sqrt(self.embedding_dim)


class EncoderLayer(nn.Module):
    """Two sub-layers, each with its residual: self-attention, feed-forward.

    Args:
        d_model: Width D.
        n_heads: Number H of heads.
        d_ff: Width of the feed-forward network's hidden layer.
        dropout: As in :class:`Residual`.
        attention_dropout: Share of the attention weights set to 0 in training; the
            paper names none.
        norm_first: As in :class:`Residual`.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        norm_first: bool = False,
    ):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=attention_dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_attention = Residual(d_model, dropout, norm_first)
        self.add_feed_forward = Residual(d_model, dropout, norm_first)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Rewrite each place.

        Args:
            x: (B, S, D).
            mask: True where a place may attend, broadcast to (B, H, S, S).

        Returns:
            (B, S, D).
        """
        x = self.add_attention(x, lambda y: self.attention(y, y, y, mask))
        return self.add_feed_forward(x, self.feed_forward)


class KeysValues(NamedTuple):
    """Keys and values that need not be made again."""

    k: Tensor  # (B, H, S, d_k)
    v: Tensor  # (B, H, S, d_k)

    def extend(self, k: Tensor, v: Tensor) -> KeysValues:
        """Append those of further places; this one stays as it is."""
        return KeysValues(torch.cat([self.k, k], 2), torch.cat([self.v, v], 2))


class LayerCache(NamedTuple):
    """What a decoder layer keeps from step to step."""

    target: KeysValues  # of the words said so far
    source: KeysValues  # of the source, made once a sentence


class DecoderLayer(nn.Module):
    """Three sub-layers: masked self-attention, cross-attention, feed-forward.

    Arguments as of :class:`EncoderLayer`.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        norm_first: bool = False,
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(
            d_model, n_heads, dropout=attention_dropout
        )
        self.cross_attention = MultiHeadAttention(
            d_model, n_heads, dropout=attention_dropout
        )
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_self_attention = Residual(d_model, dropout, norm_first)
        self.add_cross_attention = Residual(d_model, dropout, norm_first)
        self.add_feed_forward = Residual(d_model, dropout, norm_first)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Rewrite each target place, all at once.

        Args:
            x: (B, T, D).
            memory: What the encoder returned, (B, S, D).
            mask: True where a target place may attend to another, broadcast to
                (B, H, T, T).
            memory_mask: True where it may attend to the source, broadcast to
                (B, H, T, S).

        Returns:
            (B, T, D).
        """
        x = self.add_self_attention(x, lambda y: self.self_attention(y, y, y, mask))
        x = self.add_cross_attention(
            x, lambda y: self.cross_attention(y, memory, memory, memory_mask)
        )
        return self.add_feed_forward(x, self.feed_forward)

    def start(self, memory: Tensor) -> LayerCache:
        """Make the keys and values of the source, and none of the target yet."""
        source = KeysValues(*self.cross_attention.keys_values(memory, memory))
        nothing = source.k[:, :, :0]  # (B, H, 0, d_k)
        return LayerCache(KeysValues(nothing, nothing), source)

    def step(
        self, x: Tensor, cache: LayerCache, memory_mask: Tensor | None = None
    ) -> tuple[Tensor, LayerCache]:
        """Rewrite one more target place, as ``forward`` does with a causal mask.

        Args:
            x: (B, 1, D).
            cache: Of the places before it.
            memory_mask: As in ``forward``, with T = 1.

        Returns:
            (B, 1, D), and the cache with this place.
        """
        own, other = self.self_attention, self.cross_attention
        y = self.add_self_attention.before(x)
        target = cache.target.extend(*own.keys_values(y, y))
        # All keys are of this place and those before it: no mask is needed.
        x = self.add_self_attention.after(x, own.attend(own.queries(y), *target))
        x = self.add_cross_attention(
            x, lambda y: other.attend(other.queries(y), *cache.source, memory_mask)
        )
        x = self.add_feed_forward(x, self.feed_forward)
        return x, LayerCache(target, cache.source)
