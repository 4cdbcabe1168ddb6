"""The Transformer: Vaswani et al. 2017, Attention Is All You Need."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from attnbook.core.checks import (
    check_batch,
    check_ids,
    check_padded_right,
    check_source,
    check_token,
)
from attnbook.nn.layers import (
    DecoderLayer,
    EncoderLayer,
    LayerCache,
    ScaledEmbedding,
    TransformerConfig,
    check_config,
)
from attnbook.nn.masks import key_mask, target_mask
from attnbook.nn.positions import SinusoidalPositions


class TransformerState(NamedTuple):
    """What :class:`Transformer` carries from step to step of decoding."""

    layers: tuple[LayerCache, ...]
    source_mask: Tensor  # (B, 1, 1, S)

    @property
    def position(self) -> int:
        """The position of the next token, as many having been read."""
        return self.layers[0].target.k.shape[2]


class Transformer(nn.Module):
    """An encoder that reads the source, a decoder that predicts the target.

    Args:
        config: The sizes.
        positions: Adds positions to word vectors; sinusoids if not given.

    Examples:
        >>> from attnbook.models import Transformer
        >>> from attnbook.nn import TransformerConfig
        >>> sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32}
        >>> model = Transformer(TransformerConfig(9, 11, **sizes))
        >>> src, tgt_in = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6, 7, 8]])
        >>> model(src, tgt_in).shape  # logits, (B, T, V)
        torch.Size([1, 4, 11])
    """

    def __init__(self, config: TransformerConfig, positions: nn.Module | None = None):
        super().__init__()
        check_config(config)
        self.config = config
        d_model, n_layers = config.d_model, config.n_layers
        self.source_embedding = ScaledEmbedding(config.source_vocab_size, d_model)
        self.target_embedding = (
            self.source_embedding
            if config.target_vocab_size is None
            else ScaledEmbedding(config.target_vocab_size, d_model)
        )
        if positions is None:
            positions = SinusoidalPositions(d_model)
        self.positions = positions
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(n_layers))
        norm = nn.LayerNorm if config.norm_first else nn.Identity
        self.encoder_norm, self.decoder_norm = norm(d_model), norm(d_model)
        self.out = nn.Linear(d_model, self.target_embedding.num_embeddings, bias=False)
        self.out.weight = self.target_embedding.weight  # tied: one matrix, two uses

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict every target token from those before it, all at once.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T): teacher forcing.

        Returns:
            Logits, (B, T, V).

        Raises:
            ValueError: If the two batches are of different size, or an id is not in the
                vocabulary, or padding stands before a token; a GPU isn't asked for
                the last two.
        """
        check_batch(src, tgt_in)
        source_mask = key_mask(src)  # (B, 1, 1, S)
        return self.decode(tgt_in, self.encode(src, source_mask), source_mask)

    def encode(self, src: Tensor, mask: Tensor | None = None) -> Tensor:
        """Turn source ids, (B, S), into one vector a position, (B, S, D)."""
        check_ids(src=src)
        check_padded_right(src=src)
        mask = key_mask(src) if mask is None else mask  # (B, 1, 1, S)
        x = self.dropout(self.positions(self.source_embedding(src)))  # (B, S, D)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, tgt_in: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Predict from target ids, (B, T), and what the encoder returned, (B, S, D)."""
        check_ids(tgt_in=tgt_in)
        check_padded_right(tgt_in=tgt_in)
        mask = target_mask(tgt_in)  # (B, 1, T, T), for all layers
        y = self.dropout(self.positions(self.target_embedding(tgt_in)))  # (B, T, D)
        for layer in self.decoder:
            y = layer(y, memory, mask, memory_mask)
        return self.out(self.decoder_norm(y))  # (B, T, V)

    def start(self, src: Tensor) -> TransformerState:
        """Read the source, (B, S), before decoding token by token.

        Raises:
            ValueError: If an id is not in the source vocabulary, a sentence empty, or
                not all of its padding on the right.
        """
        check_source(src, self.source_embedding.num_embeddings)
        mask = key_mask(src)  # (B, 1, 1, S)
        memory = self.encode(src, mask)  # (B, S, D)
        return TransformerState(
            tuple(layer.start(memory) for layer in self.decoder), mask
        )

    def step(
        self, token: Tensor, state: TransformerState
    ) -> tuple[Tensor, TransformerState]:
        """Read one token more and predict the next.

        Args:
            token: The previous output token, (B,).
            state: The state after the tokens before it; it is not changed.

        Returns:
            Logits of the next token, (B, V), and the new state.
        """
        check_token(token, len(state.source_mask))
        y = self.target_embedding(token[:, None])  # (B, 1, D)
        y = self.dropout(self.positions(y, offset=state.position))
        caches = []
        for layer, cache in zip(self.decoder, state.layers, strict=True):
            y, cache = layer.step(y, cache, state.source_mask)
            caches.append(cache)
        logits = self.out(self.decoder_norm(y))[:, 0]  # (B, V)
        return logits, TransformerState(tuple(caches), state.source_mask)
