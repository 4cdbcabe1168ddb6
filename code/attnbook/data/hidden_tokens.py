"""Hiding tokens that a model has to guess: Devlin et al. 2019, section 3.1."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.core.vocabulary import EOS, PAD


def hide_tokens(
    ids: Tensor, share: float, mask_id: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Replace random words by a special token, and keep what was there.

    Every hidden word is replaced; BERT leaves a tenth of them as they are, and replaces
    another tenth by random words.

    Args:
        ids: Token ids, (B, T); ``PAD``, ``BOS`` and ``EOS`` are never hidden.
        share: Probability that a word is hidden. In a sentence where none is, one is.
        mask_id: Id of the special token that stands for a hidden word.
        generator: Source of randomness, on the device of ``ids``.

    Returns:
        The ids with hidden words replaced, (B, T), and the targets, (B, T): the word
        where one is hidden, ``PAD`` elsewhere, so that the loss counts no other.

    Raises:
        ValueError: If ``share`` is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}; it must be above 0 and at most 1")
    words = ids > EOS  # PAD, BOS and EOS are 0, 1 and 2
    luck = torch.rand(ids.shape, generator=generator, device=ids.device)
    luck = luck.masked_fill(~words, torch.inf)
    hidden = (luck < share) | (luck == luck.amin(1, keepdim=True))
    hidden &= words
    return ids.masked_fill(hidden, mask_id), ids.masked_fill(~hidden, PAD)
