"""The translator that comes with the package, and the captions that explorers take."""

from __future__ import annotations

from functools import lru_cache

from attnbook.data.multi30k import clean
from attnbook.translation.translator import Translator

LONGEST = 40
"""The most subwords of a caption; what a larger map shows could not be read."""


@lru_cache(maxsize=1)
def shipped_translator() -> Translator:
    """The translator, read once."""
    return Translator()


def checked_caption(text: str) -> str:
    """A caption as the translator was trained on it, without spaces at its ends.

    Args:
        text: What the reader typed.

    Raises:
        ValueError: If it is empty, or has more than :data:`LONGEST` subwords.
    """
    caption = clean(text)
    count = len(shipped_translator().subwords.pieces(caption))
    if not caption:
        raise ValueError("the caption is empty; type an English sentence")
    if count > LONGEST:
        raise ValueError(
            f"the caption has {count} subwords, and at most {LONGEST} can be shown; "
            "type a shorter one"
        )
    return caption
