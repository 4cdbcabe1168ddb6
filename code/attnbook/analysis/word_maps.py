"""Attention between words, from attention between subwords."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.core.checks import check_texts

SPACE = "▁"  # in a subword: the space before it


def word_groups(pieces: Sequence[str]) -> list[list[int]]:
    """Group subwords into words.

    A word begins with a space; each punctuation mark and each special token is a word
    of its own.

    Args:
        pieces: Subwords of a text, as :meth:`~attnbook.data.subwords.Subwords.pieces`
            returns them; special tokens may follow.

    Returns:
        The positions of each word's subwords, in order.
    """
    check_texts(pieces=pieces)
    groups: list[list[int]] = []
    before = ""
    for position, piece in enumerate(pieces):
        goes_on = _is_word(before) and _is_word(piece) and not piece.startswith(SPACE)
        if goes_on or before == SPACE:
            groups[-1].append(position)
        else:
            groups.append([position])
        before = piece
    return groups


def words(pieces: Sequence[str]) -> list[str]:
    """The words of a text: :func:`word_groups`, each joined and without its space."""
    groups = word_groups(pieces)
    return ["".join(pieces[i] for i in group).replace(SPACE, "") for group in groups]


def _is_word(piece: str) -> bool:
    """Whether a subword is part of a word, not punctuation or a special token."""
    return any(map(str.isalnum, piece)) and not piece.startswith("<")


def word_weights(
    weights: Tensor, target: Sequence[str], source: Sequence[str]
) -> tuple[Tensor, list[str], list[str]]:
    """Merge the subwords of attention weights into words.

    The weight on a source word is the sum over its subwords; the weights of a target
    word are the mean over its subwords. So each row still sums to 1.

    Args:
        weights: (T, S), one row for each target subword.
        target: T subwords.
        source: S subwords.

    Returns:
        Weights between words, and the target and the source words.

    Raises:
        ValueError: If the numbers of subwords are not those of rows and columns.
    """
    if weights.shape != (len(target), len(source)):
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} for {len(target)} target and "
            f"{len(source)} source subwords; give all of them, special tokens included"
        )
    rows, columns = word_groups(target), word_groups(source)
    summed = torch.stack([weights[:, group].sum(1) for group in columns], dim=1)
    merged = torch.stack([summed[group].mean(0) for group in rows])
    return merged, words(target), words(source)
