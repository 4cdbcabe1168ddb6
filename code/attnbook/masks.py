"""Which positions count. Throughout the course, True means: may be used."""

from __future__ import annotations

from torch import Tensor

from attnbook.vocabulary import PAD


def padding_mask(ids: Tensor) -> Tensor:
    """Mark the real tokens of a padded batch.

    Args:
        ids: Token ids, (B, S).

    Returns:
        (B, S), bool; False at ``PAD``.
    """
    return ids != PAD
