"""Translations into the toy language, each word with its English below it."""

from collections.abc import Mapping, Sequence
from html import escape

from attnbook.toy.language import AND, AND_TARGET, KINDS, translate_by_rule

OURS = translate_by_rule(
    "the old farmer sees a bird and this young queen hears the big dog"
)
"""The sentence that the models of several chapters translate."""

CARD = "display: inline-block; text-align: center; margin: 0 0.35em 0.3em 0"
WRONG = "; font-weight: bold; text-decoration: underline wavy"


def gloss_table() -> dict[str, str]:
    """Each word of the toy target language in English."""
    found = {AND_TARGET: AND}
    for kind, words in KINDS.items():
        endings = ("",) if kind in ("noun", "verb") else ("n", "s")
        found |= {word + e: english for english, word in words.items() for e in endings}
    return found


def gloss(output: Sequence[str]) -> str:
    """A toy sentence word by word in English."""
    table = gloss_table()
    return " ".join(table[word] for word in output)


def card(word: str, below: str, wrong: bool = False) -> str:
    """A toy word with English below it."""
    return (
        f'<span class="clicks-card" style="{CARD}{WRONG * wrong}">'
        f'<span lang="art-x-toy">{word}</span><br><small>{escape(below)}</small></span>'
    )


class translations:  # noqa: N801  (a page calls it as it calls `table`)
    """Show what models make of :data:`OURS`, with wrong words marked.

    Args:
        outputs: By what to call each model, the words that it writes.
    """

    def __init__(self, outputs: Mapping[str, Sequence[str]]):
        self.outputs = dict(outputs)

    def __repr__(self) -> str:
        lines = [" ".join(OURS.source)]
        for name, words in self.outputs.items():
            marked = [w if r else f"*{w}*" for w, r in _judged(words)]
            lines += [f"{name}: {' '.join(marked)}", f"  {gloss(words)}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        english, parts = gloss_table(), []
        for name, words in self.outputs.items():
            cards = [card(w, english[w], not right) for w, right in _judged(words)]
            if (missing := len(OURS.target) - len(words)) > 0:
                cards.append(card("…", f"{missing} words missing", True))
            parts.append(
                f"<p><strong>{escape(name)}</strong></p>\n<p>{' '.join(cards)}</p>"
            )
        return f"<p><em>{' '.join(OURS.source)}</em></p>\n" + "\n".join(parts)


def _judged(words: Sequence[str]) -> list[tuple[str, bool]]:
    """Each word, and whether the right translation has it at the same position."""
    right = [*OURS.target, *[""] * len(words)]
    return [(word, word == wanted) for word, wanted in zip(words, right, strict=False)]
