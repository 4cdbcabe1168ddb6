"""A residual connection and its norm, around any sub-layer: Add & Norm."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from attnbook.core.checks import check_dropout, check_sizes


def add_and_norm(
    layer: nn.Module, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.Module
) -> Tensor:
    """Add what a sub-layer returns to what went into it, and normalise.

    Post-norm, LayerNorm(x + Dropout(sublayer(x))), is the form of Vaswani et al. 2017,
    sections 3.1 and 5.4. Pre-norm, x + Dropout(sublayer(LayerNorm(x))), leaves the skip
    connection through all layers free.

    Args:
        layer: Has ``dropout`` and ``norm_first``, whether to take pre-norm.
        x: (B, T, D).
        sublayer: Keeps the shape.
        norm: That of this sub-layer.

    Returns:
        (B, T, D).
    """
    if layer.norm_first:
        return x + layer.dropout(sublayer(norm(x)))
    return norm(x + layer.dropout(sublayer(x)))


class Residual(nn.Module):
    """:func:`add_and_norm` as a module, for small stacks of any sub-layers.

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
        return add_and_norm(self, x, sublayer, self.norm)
