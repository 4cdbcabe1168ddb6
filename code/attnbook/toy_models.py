"""The models of the toy language that come with the package, trained."""

from __future__ import annotations

from attnbook.transformer import Transformer


def toy_transformer(
    n_source: int, n_target: int, norm_first: bool = True
) -> Transformer:
    """Make a Transformer of the size that the toy language asks for.

    Args:
        n_source: Number of source words.
        n_target: Number of target words.
        norm_first: Whether to take pre-norm, which needs no warm-up.
    """
    return Transformer(
        n_source,
        n_target,
        d_model=64,
        n_heads=4,
        n_layers=2,
        d_ff=128,
        dropout=0.0,
        norm_first=norm_first,
    )
