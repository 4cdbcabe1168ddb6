"""A text as a model's captions are written: plain signs, and nothing invisible."""

from __future__ import annotations

import html
import re
import unicodedata

from attnbook.data.multi30k import clean

PLAIN = {
    **dict.fromkeys("‘’‚‛‹›′´`ʼ", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–―−", "-"),
    "—": " - ",
}
"""Typographic signs, and what captions have in their place."""

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
    """
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
