"""Splitting a line of text into sentences, since the models know single sentences.

The rule is that of the library sentencex: a full stop, a question mark or an
exclamation mark ends a sentence, unless it belongs to an abbreviation of the language
("Mr.", "z. B."), to a number or a date ("3.30", "3. Mai"), or to a quotation that goes
on. In doubt a text is left whole.
"""

from __future__ import annotations

LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
"""Languages by their codes."""


def language_name(code: str) -> str:
    """Name a language in English."""
    return LANGUAGES.get(code, f"the language {code!r}")


def split_sentences(line: str, language: str) -> list[str]:
    """Split a line into sentences.

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
