"""The translators that come with the package, and the captions that explorers take."""

from functools import lru_cache
from importlib.resources import files

from attnbook.data.multi30k import clean
from attnbook.data.subwords import Subwords
from attnbook.translation.translator import Translator

LONGEST = 40
"""The most subwords of a caption; what a larger map shows could not be read."""


@lru_cache(maxsize=1)
def shipped_translator() -> Translator:
    """The translator, read once."""
    return Translator()


@lru_cache(maxsize=1)
def shipped_bahdanau() -> Translator:
    """The translator with Bahdanau's attention, read once."""
    return Translator(files("attnbook") / "stored" / "models" / "multi30k_bahdanau")


def checked_caption(text: str, subwords: Subwords | None = None) -> str:
    """A caption as the translators were trained on it, without spaces at its ends.

    Args:
        text: What the reader typed.
        subwords: Those of the translator; by default those of
            :func:`shipped_translator`.

    Raises:
        ValueError: If it is empty, or has more than :data:`LONGEST` subwords.
    """
    caption = clean(text)
    subwords = subwords or shipped_translator().subwords
    count = len(subwords.pieces(caption))
    if not caption:
        raise ValueError("the caption is empty; type an English sentence")
    if count > LONGEST:
        raise ValueError(
            f"the caption has {count} subwords, and at most {LONGEST} can be shown; "
            "type a shorter one"
        )
    return caption
