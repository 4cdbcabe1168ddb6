"""A text as a model's captions are written: plain signs, in single sentences."""

from __future__ import annotations

import html
import re
import unicodedata

from attnbook.core.checks import check_text
from attnbook.data.multi30k import clean

PLAIN = {
    **dict.fromkeys("‘’‚‛‹›′´`ʼ", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–―−", "-"),
    "—": " - ",
}
"""Typographic signs, and what captions have in their place."""

LANGUAGES = {
    **{"en": "English", "de": "German", "fr": "French", "cs": "Czech"},
    **{"es": "Spanish", "it": "Italian", "nl": "Dutch", "pt": "Portuguese"},
}
"""Languages by their codes."""

AND = {"English": "and", "German": "und", "French": "et"}
"""What a single & is read as, by language, since captions hardly have one."""

INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Control characters, Unicode's default-ignorable ones, and U+2800 show nothing."""


def plain_text(text: str, usual: dict) -> str:
    """Write a text as a model has learned to read it.

    HTML entities become characters, what is invisible is taken out, and a sign that the
    training captions have less often than its plain form, or never, becomes that.

    Args:
        text: Any text.
        usual: As :func:`~attnbook.translation.doubts.usual_texts` returns it.

    Raises:
        ValueError: If it is no text.
    """
    check_text(text)
    text = re.sub("[\ud800-\udfff]", "\ufffd", html.unescape(text))
    text = re.sub(f"[{INVISIBLE}]", "", clean(text))
    text = unicodedata.normalize("NFC", text)
    known = usual.get("characters", "")
    text = "".join(_plain(character, known) for character in text)
    text = clean(unicodedata.normalize("NFC", text))
    both = AND.get(usual.get("languages", [""])[0], "&")
    return re.sub("(?<= )&(?= )", both, text)


def _plain(character: str, known: str) -> str:
    """Its plain form, unless it is known, and before that: the most frequent first."""
    form = PLAIN.get(character) or unicodedata.normalize("NFKC", character)
    more_frequent, found, _ = known.partition(character)
    return character if found and form.strip()[:1] not in more_frequent else form


def language_name(code: str) -> str:
    """Name a language in English, or quote its code."""
    return LANGUAGES.get(code, repr(code))


def split_sentences(line: str, language: str) -> list[str]:
    """Split a line into sentences, since the models know single ones.

    The rule is that of the library sentencex: a full stop, a question mark or an
    exclamation mark ends a sentence, unless it belongs to an abbreviation of the
    language ("Mr.", "z. B."), to a number or a date ("3.30", "3. Mai"), or to a
    quotation that goes on. In doubt a text is left whole.

    Args:
        line: Plain text.
        language: Its code, such as "en"; a language unknown to the library is split by
            the rules of English.

    Returns:
        The sentences, without the space around them; none if the line is blank.
    """
    from sentencex import segment  # here: training on a bare machine needs none

    parts = segment(language, line)
    return [part.strip() for part in parts if part.strip()]
