"""Residual connections with a norm, and the block of two sub-layers that they join."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from attnbook.core.checks import check_dropout
from attnbook.nn.multi_head import KeysValues


class Residual(nn.Module):
    """Adds what a sub-layer returns to what went into it, and normalises: Add & Norm.

    Post-norm, LayerNorm(x + Dropout(sublayer(x))), is the form of Vaswani et al. 2017,
    sections 3.1 and 5.4. Pre-norm, x + Dropout(sublayer(LayerNorm(x))), leaves the skip
    connection through all layers free.

    Args:
        dropout: Share of the sub-layer's features set to 0 in training.
        norm_first: Whether to take pre-norm.
    """

    def __init__(self, dropout: float = 0.0, norm_first: bool = False):
        super().__init__()
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.Module
    ) -> Tensor:
        """Apply a sub-layer, its dropout and its norm; all keep the shape (B, T, D)."""
        if self.norm_first:
            return x + self.dropout(sublayer(norm(x)))
        return norm(x + self.dropout(sublayer(x)))


class Block(nn.Module):
    r"""Self-attention and a feed-forward network, each in a residual connection.

    In pre-norm, :math:`x + \mathrm{attention}(\mathrm{norm}_1(x))`, then
    :math:`x + \mathrm{feedforward}(\mathrm{norm}_2(x))`. With the parts of 2017 it is
    an :class:`~attnbook.nn.layers.EncoderLayer`.

    Args:
        norm_1: Of the attention; maps (B, T, D) to (B, T, D), as all four do.
        attention: Called with query, key, value and mask.
        norm_2: Of the feed-forward network.
        feed_forward: Called with one tensor.
        dropout: Of what is added.
        norm_first: Whether to take pre-norm.
    """

    def __init__(
        self,
        norm_1: nn.Module,
        attention: nn.Module,
        norm_2: nn.Module,
        feed_forward: nn.Module,
        dropout: float = 0.0,
        norm_first: bool = True,
    ):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm_1, self.norm_2 = norm_1, norm_2
        self.residual = Residual(dropout, norm_first)

    @property
    def dropout(self) -> nn.Dropout:
        """What drops features of both sub-layers' outputs."""
        return self.residual.dropout

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Rewrite each position: (B, T, D), under a mask that fits (B, H, T, T)."""
        return self._rewrite(x, lambda y: self.attention(y, y, y, mask))

    def start(self, x: Tensor) -> KeysValues:
        """Make an empty cache for B sequences; of ``x``, (B, …, D), only B counts."""
        if not hasattr(self.attention, "keys_values"):
            raise ValueError(
                f"{type(self.attention).__name__} keeps no keys and values from step "
                "to step; give all positions to forward"
            )
        return self.attention.start(x)

    def step(self, x: Tensor, cache: KeysValues) -> tuple[Tensor, KeysValues]:
        """Rewrite T more positions, as ``forward`` does with a causal mask.

        Args:
            x: (B, T, D).
            cache: Of the positions before them; it is not changed.

        Returns:
            (B, T, D), and the cache with these positions.
        """

        def attend(y: Tensor) -> Tensor:
            nonlocal cache
            y, cache = self.attention.step(y, cache)
            return y

        x = self._rewrite(x, attend)
        return x, cache

    def _rewrite(self, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.residual(x, attend, self.norm_1)
        return self.residual(x, self.feed_forward, self.norm_2)
