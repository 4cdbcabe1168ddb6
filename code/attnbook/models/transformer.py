"""The Transformer: Vaswani et al. 2017, Attention Is All You Need."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from attnbook.core.checks import check_batch, check_sizes, check_source
from attnbook.nn.layers import DecoderLayer, EncoderLayer, LayerCache, ScaledEmbedding
from attnbook.nn.masks import key_mask, target_mask
from attnbook.nn.positions import SinusoidalPositions
from attnbook.nn.scaled_dot_product import check_dropout


class TransformerState(NamedTuple):
    """What :class:`Transformer` carries from step to step of decoding."""

    layers: tuple[LayerCache, ...]
    source_mask: Tensor  # (B, 1, 1, S)

    @property
    def position(self) -> int:
        """The position of the next word, as many words having been read."""
        return self.layers[0].target.k.shape[2]


class Transformer(nn.Module):
    """An encoder that reads the source, a decoder that predicts the target.

    The defaults are the base model of the paper (its table 3).

    Args:
        n_source: Number of source words.
        n_target: Number of target words. None: both languages have one vocabulary,
            and one matrix serves both embeddings and the output, as in the paper.
        d_model: Width D.
        n_heads: Number H of heads.
        n_layers: Number of encoder layers, and of decoder layers.
        d_ff: Width of the feed-forward networks' hidden layers.
        dropout: Share of numbers set to 0 in training: of each sub-layer's result, and
            of the sums of word vector and position.
        attention_dropout: Of the attention weights; the paper names none.
        norm_first: False is the paper's post-norm. True is pre-norm, which ends each
            stack with a norm of its own.
        positions: Adds positions to word vectors; sinusoids if not given.
    """

    def __init__(
        self,
        n_source: int,
        n_target: int | None = None,
        *,
        d_model: int = 512,
        n_heads: int = 8,
        n_layers: int = 6,
        d_ff: int = 2048,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        norm_first: bool = False,
        positions: nn.Module | None = None,
    ):
        super().__init__()
        check_sizes(n_source=n_source, n_layers=n_layers)
        if n_target is not None:
            check_sizes(n_target=n_target)
        check_dropout(dropout)
        layer = d_model, n_heads, d_ff, dropout, attention_dropout, norm_first
        self.source_embedding = ScaledEmbedding(n_source, d_model)
        self.target_embedding = (
            self.source_embedding
            if n_target is None
            else ScaledEmbedding(n_target, d_model)
        )
        self.positions = (
            SinusoidalPositions(d_model) if positions is None else positions
        )
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*layer) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*layer) for _ in range(n_layers))
        self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.out = nn.Linear(d_model, self.target_embedding.num_embeddings, bias=False)
        self.out.weight = self.target_embedding.weight  # tied: one matrix, two uses

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict every target word from those before it, all at once.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T); teacher forcing.

        Returns:
            Logits, (B, T, V).

        Raises:
            ValueError: If the two batches are of different size.
        """
        check_batch(src, tgt_in)
        return self.decode(tgt_in, self.encode(src), key_mask(src))

    def encode(self, src: Tensor) -> Tensor:
        """Turn source ids, (B, S), into one vector a place, (B, S, D)."""
        mask = key_mask(src)  # (B, 1, 1, S)
        x = self.dropout(self.positions(self.source_embedding(src)))  # (B, S, D)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, tgt_in: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Predict from target ids, (B, T), and what the encoder returned, (B, S, D)."""
        mask = target_mask(tgt_in)  # (B, 1, T, T)
        y = self.dropout(self.positions(self.target_embedding(tgt_in)))  # (B, T, D)
        for layer in self.decoder:
            y = layer(y, memory, mask, memory_mask)
        return self.out(self.decoder_norm(y))  # (B, T, V)

    def start(self, src: Tensor) -> TransformerState:
        """Read the source, (B, S), before decoding word by word.

        Raises:
            ValueError: If an id is not in the source vocabulary, or a sentence empty.
        """
        check_source(src, self.source_embedding.num_embeddings)
        memory = self.encode(src)  # (B, S, D)
        layers = tuple(layer.start(memory) for layer in self.decoder)
        return TransformerState(layers, key_mask(src))

    def step(
        self, token: Tensor, state: TransformerState
    ) -> tuple[Tensor, TransformerState]:
        """Read one word more and predict the next.

        Args:
            token: The word just said, (B,).
            state: The state after the words before it; it is not changed.

        Returns:
            Logits of the next word, (B, V), and the new state.
        """
        y = self.target_embedding(token[:, None])  # (B, 1, D)
        y = self.dropout(self.positions(y, offset=state.position))
        caches = []
        for layer, cache in zip(self.decoder, state.layers, strict=True):
            y, cache = layer.step(y, cache, state.source_mask)
            caches.append(cache)
        logits = self.out(self.decoder_norm(y))[:, 0]  # (B, V)
        return logits, TransformerState(tuple(caches), state.source_mask)
