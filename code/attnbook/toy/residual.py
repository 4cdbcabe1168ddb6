"""A residual connection and its norm, around any sub-layer."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from attnbook.core.checks import check_dropout, check_sizes


class Residual(nn.Module):
    """Adds what a sub-layer returns to what went into it, and normalises.

    Post-norm, LayerNorm(x + Dropout(sublayer(x))), is the form of Vaswani et al. 2017,
    sections 3.1 and 5.4. Pre-norm, x + Dropout(sublayer(LayerNorm(x))), leaves the skip
    connection through all layers free. Small stacks of any sub-layers use it; the
    Transformer's layers write both forms out.

    Args:
        d_model: Width D.
        dropout: Share of the sub-layer's features set to 0 in training.
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
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
