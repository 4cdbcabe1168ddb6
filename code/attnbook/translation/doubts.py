"""Signs that a text, or its translation, is beyond what a model has learned."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from attnbook.core.vocabulary import SPECIAL_TOKENS, UNK
from attnbook.data.multi30k import clean
from attnbook.data.subwords import Subwords

MANY_SUBWORDS = 1.6
"""More subwords per word than these are many, if a model has no number of its own.

Of Multi30k's English validation captions, 99 in 100 have no more under the subwords of
the shipped model.
"""

REPEATED = re.compile(r"(.{2,40}?)\1\1")
"""Two to forty characters that stand three times in a row."""


def doubts_about_text(
    text: str, subwords: Subwords, many: float = MANY_SUBWORDS
) -> list[str]:
    """Why a model will hardly translate a text well.

    Args:
        text: A sentence.
        subwords: Those of the model.
        many: More subwords per word than these are many.

    Returns:
        Reasons, each a clause that can stand in a warning.
    """
    text = unicodedata.normalize("NFC", clean(text))  # as it is translated
    found = []
    if unknown := unknown_characters(text, subwords):
        found.append(f"this model has no {' '.join(unknown)} and cannot read it")
    pieces = len(subwords.pieces(text))
    if text.isupper() and len(subwords.pieces(text.lower())) < pieces:
        found.append("it is in capitals, which this model hardly knows; use lower case")
    elif subwords_per_word(text, subwords) > many and not unknown:
        word = max(words(text), key=lambda word: len(word_pieces(word, subwords)))
        parts = "-".join(word_pieces(word, subwords))
        found.append(
            f"words such as {word} are new to this model, which reads it as {parts}"
        )
    return found


def unknown_characters(text: str, subwords: Subwords) -> list[str]:
    """The different characters of a text that the subwords do not hold."""
    unknown = SPECIAL_TOKENS[UNK]
    characters = dict.fromkeys(text.replace(" ", ""))  # each once, in their order
    return [c for c in characters if unknown in subwords.pieces(c)]


def words(text: str) -> list[str]:
    """The words and numbers of a text, without punctuation."""
    return re.findall(r"\w+", text)


def word_pieces(word: str, subwords: Subwords) -> list[str]:
    """The subwords of a single word, without the sign of the space before it."""
    pieces = [piece.removeprefix("▁") for piece in subwords.pieces(word)]
    return [piece for piece in pieces if piece]


def subwords_per_word(text: str, subwords: Subwords) -> float:
    """How many subwords a word of a text has, on average; 0 without a word."""
    counts = [len(word_pieces(word, subwords)) for word in words(text)]
    return sum(counts) / len(counts) if counts else 0.0


def many_subwords(texts: Sequence[str], subwords: Subwords) -> float:
    """The subwords per word that 99 in 100 texts have at most."""
    counts = sorted(subwords_per_word(text, subwords) for text in texts)
    return counts[int(0.99 * (len(counts) - 1))]


def repeated_part(output: str) -> str:
    """The part of a translation that is repeated again and again, or ""."""
    found = (match[1] for match in REPEATED.finditer(f"{output} "))
    return next((part.strip() for part in found if re.search(r"[^\W\d]", part)), "")
