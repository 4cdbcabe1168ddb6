"""What follows *waiting* and *warten* in the captions that the translator learned."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attnbook.course.kit.experiments import experiment
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator

ENGLISH = ("waiting for", "waiting at", "waiting at the station")
GERMAN = {
    "warten auf": r"warte\w* auf",  # and wartet, wartend, …
    "warten an, am": r"warte\w* a[nm]",
    "Bahnhof": "bahnhof",
}


@experiment
def waiting_for() -> dict:
    """Count the training captions with some words in them.

    Returns:
        "captions"; "english" and "german": captions by what they contain.
    """
    both = load_texts(Translator().config, "train")
    return {
        "captions": len(both.source),
        "english": count(both.source, {words: words for words in ENGLISH}),
        "german": count(both.target, GERMAN),
    }


def count(texts: Sequence[str], patterns: dict[str, str]) -> dict[str, int]:
    """How many texts contain each pattern as whole words, in capitals or not."""
    return {
        name: sum(
            re.search(rf"\b{pattern}\b", t, re.IGNORECASE) is not None for t in texts
        )
        for name, pattern in patterns.items()
    }
