"""The Transformer's layers: attention and a feed-forward network, joined by residuals.

Each sub-layer is joined in one of two forms, post-norm and pre-norm, which
:class:`~attnbook.nn.block.Residual` writes as on a whiteboard.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.checks import check_known, check_shares, check_sizes
from attnbook.core.vocabulary import PAD
from attnbook.nn.attention_checks import check_heads
from attnbook.nn.block import Block, Residual
from attnbook.nn.multi_head import KeysValues, MultiHeadAttention


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a Transformer; the defaults are the paper's base model (table 3).

    Raises:
        ValueError: If a size is not a positive integer, a dropout not in [0, 1), or D
            cannot be divided by H.
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
        if self.target_vocab_size is None:
            del sizes["target_vocab_size"]
        check_sizes(**sizes)
        check_heads(self.d_model, self.n_heads)
        check_shares(dropout=self.dropout, attention_dropout=self.attention_dropout)
        if self.norm_first not in (True, False):  # a text would be taken for True
            raise ValueError(f"norm_first is {self.norm_first!r}; give True or False")


def check_config(config: TransformerConfig) -> None:
    """Raise a ValueError if sizes are not given as one config."""
    if not isinstance(config, TransformerConfig):
        raise ValueError(
            f"config is {config!r:.40}; give all sizes in one: "
            "TransformerConfig(source_vocab_size=14, target_vocab_size=14, d_model=64)"
        )


class FeedForward(nn.Module):
    r"""The same network at each position: :math:`\max(0, x W_1 + b_1) W_2 + b_2`.

    Equation 2 of Vaswani et al. 2017. It mixes features, not positions.

    Args:
        d_model: Width D of what comes in and goes out.
        d_ff: Width of the hidden layer; the paper has 4 D.

    Examples:
        >>> FeedForward(d_model=8, d_ff=32)(torch.randn(1, 3, 8)).shape
        torch.Size([1, 3, 8])
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


def look_up(ids: Tensor, table: Tensor, padding_idx: int | None = None) -> Tensor:
    """Take rows of a table of word vectors, (V, D): ids, (...), to (..., D).

    Raises:
        ValueError: If an id has no row. On a GPU PyTorch stops without saying which.
    """
    try:
        return F.embedding(ids, table, padding_idx)
    except IndexError:  # which PyTorch raises on a CPU, without the id
        check_known(ids, len(table))
        raise


class TokenEmbedding(nn.Embedding):
    """A vector for each token; that of ``PAD`` starts at 0, and no look-up changes it.

    Args:
        vocab_size: Number of tokens V, ``PAD`` included.
        d_model: Width D.
    """

    def __init__(self, vocab_size: int, d_model: int):
        check_sizes(vocab_size=vocab_size, d_model=d_model)
        super().__init__(vocab_size, d_model, padding_idx=PAD)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ids, (...): vectors, (..., D)."""
        return look_up(ids, self.weight, PAD)


class ScaledEmbedding(TokenEmbedding):
    """Word vectors whose components start with variance 1/D, multiplied by √D.

    Vaswani et al. 2017, section 3.4. So the table can be the output layer's as well:
    small there, and next to the positions as large as they are. Its arguments are those
    of :class:`TokenEmbedding`.
    """

    def reset_parameters(self) -> None:
        """Initialise the table: N(0, 1/D), and zeros for ``PAD``."""
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)
        with torch.no_grad():
            self.weight[PAD] = 0

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ids, (B, T): vectors, (B, T, D)."""
        return super().forward(ids) * math.sqrt(self.embedding_dim)


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    check_config(config)
    return MultiHeadAttention(
        config.d_model, config.n_heads, dropout=config.attention_dropout
    )


class EncoderLayer(Block):
    """The block of 2017: self-attention, then a feed-forward network.

    Examples:
        >>> from attnbook.nn import EncoderLayer, TransformerConfig
        >>> layer = EncoderLayer(TransformerConfig(d_model=8, n_heads=2, d_ff=32))
        >>> layer(torch.randn(1, 3, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(self, config: TransformerConfig):
        attention, d_model = _attention(config), config.d_model
        super().__init__(
            *(nn.LayerNorm(d_model), attention),
            *(nn.LayerNorm(d_model), FeedForward(d_model, config.d_ff)),
            dropout=config.dropout,
            norm_first=config.norm_first,
        )


class EncoderStack(nn.Module):
    """Encoder layers one after the other, and a last norm if they are pre-norm.

    With a causal mask it is a decoder without cross-attention.

    Args:
        config: The sizes; those of vocabularies are not used.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_config(config)
        self.layers = nn.ModuleList(
            EncoderLayer(config) for _ in range(config.n_layers)
        )
        norm = nn.LayerNorm if config.norm_first else nn.Identity
        self.norm = norm(config.d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Rewrite each position: (B, T, D), under a mask that fits (B, H, T, T)."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)

    def start(self, x: Tensor) -> tuple[KeysValues, ...]:
        """Make an empty cache for B sequences; of ``x``, (B, …, D), only B counts."""
        return tuple(layer.start(x) for layer in self.layers)

    def step(
        self, x: Tensor, cache: tuple[KeysValues, ...]
    ) -> tuple[Tensor, tuple[KeysValues, ...]]:
        """Rewrite T more positions, as ``forward`` does with a causal mask.

        Args:
            x: (B, T, D).
            cache: Each layer's, of the positions before; not changed.

        Returns:
            (B, T, D), and the cache with these positions.
        """
        longer = []
        for layer, old in zip(self.layers, cache, strict=True):
            x, new = layer.step(x, old)
            longer.append(new)
        return self.norm(x), tuple(longer)


class LayerCache(NamedTuple):
    """The cache of a decoder layer."""

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
        self.residual = Residual(config.dropout, config.norm_first)

    @property
    def dropout(self) -> nn.Dropout:
        """What drops features of all sub-layers' outputs."""
        return self.residual.dropout

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
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

        return self._rewrite(x, attend, read)

    def start(self, memory: Tensor) -> LayerCache:
        """Make the keys and values of the source, and none of the target yet."""
        source = self.cross_attention.keys_values(memory, memory)
        return LayerCache(self.self_attention.start(memory), source)

    def step(
        self,
        x: Tensor,
        cache: LayerCache,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, LayerCache]:
        """Rewrite T more target positions, as ``forward`` does with a causal mask.

        Args:
            x: (B, T, D).
            cache: Of the positions before them; it is not changed.
            memory_mask: As in ``forward``.

        Returns:
            (B, T, D), and the cache with these positions.
        """
        target, source = cache

        def attend(y: Tensor) -> Tensor:
            nonlocal target
            y, target = self.self_attention.step(y, target)
            return y

        def read(y: Tensor) -> Tensor:
            return self.cross_attention(y, cache=source, mask=memory_mask)

        x = self._rewrite(x, attend, read)
        return x, LayerCache(target, source)

    def _rewrite(
        self,
        x: Tensor,
        attend: Callable[[Tensor], Tensor],
        read: Callable[[Tensor], Tensor],
    ) -> Tensor:
        x = self.residual(x, attend, self.norm_1)
        x = self.residual(x, read, self.norm_2)
        return self.residual(x, self.feed_forward, self.norm_3)
