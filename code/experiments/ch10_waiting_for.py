"""Which words of the two examples the translator can have learned from its captions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.registry import experiment

ENGLISH = ("waiting for", "waiting at", "waiting at the station", "beekeeper")
WAIT = r"warte(?:n|t|nd\w*|te\w*)?"  # forms of the verb, not Wartezimmer
GERMAN = {
    "warten auf": rf"{WAIT} auf",
    "warten auf dem, der, einem, einer": rf"{WAIT} auf (?:dem|der|einem|einer)",
    "warten an, am": rf"{WAIT} a[nm]",
    "Bahnhof": "bahnhof",
    "Imker": "imker",
}


@experiment
def waiting_for() -> dict:
    """Count the training captions with some words in them.

    Returns:
        "captions"; "empty": how many have no German text; "english" and "german":
        captions by what they contain.
    """
    both = load_texts(Translator().config, "train")
    return {
        "captions": len(both.source),
        "empty": sum(not text.strip() for text in both.target),
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
