"""A stack of encoder layers: the block from which GPT, BERT and ViT are built."""

from __future__ import annotations

from torch import Tensor, nn

from attnbook.nn.layers import EncoderLayer, TransformerConfig, check_config
from attnbook.nn.multi_head import KeysValues


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
            cache: Each layer's keys and values of the positions before; not changed.

        Returns:
            (B, T, D), and the cache with these positions.
        """
        longer = []
        for layer, kept in zip(self.layers, cache, strict=True):
            x, kept = layer.step(x, kept)
            longer.append(kept)
        return self.norm(x), tuple(longer)
