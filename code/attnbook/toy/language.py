"""The toy language: English-like sentences and their rule-based translation.

Every model of the course learns to translate it. It is small enough to be learned in
half a minute on a laptop, and so regular that the reference translation and the
alignment of source and target words are known for every sentence.

Source: one to eight clauses joined by *and*. A clause is a phrase, a verb, a phrase; a
phrase is a determiner, an optional adjective, and a noun::

    the old farmer sees a bird
    phrase         verb phrase

Target: the verb moves to the end of its clause, each phrase is reversed (noun,
adjective, determiner), and every word of a phrase ends in the last letter of its noun::

    maron velin ken  lipas dos  mirat
    farmer old  the  bird  a    sees

So words move over short and long distances, and the determiner and the adjective of a
phrase cannot be translated without its noun.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

NOUNS = {
    "farmer": "maron",
    "horse": "kavon",
    "king": "tulan",
    "robot": "gemin",
    "baker": "fadun",
    "cat": "nikan",
    "bird": "lipas",
    "dog": "bodus",
    "wizard": "zoris",
    "child": "pekes",
    "queen": "selas",
    "sailor": "rumis",
}
# Stems, to which the last letter of the noun, n or s, is appended.
ADJECTIVES = {
    "old": "veli",
    "young": "bora",
    "big": "gura",
    "small": "pini",
    "kind": "sola",
    "brave": "daku",
}
DETERMINERS = {"the": "ke", "a": "do", "this": "ha"}
VERBS = {
    "sees": "mirat",
    "helps": "yudet",
    "paints": "pelot",
    "chases": "harut",
    "hears": "ozit",
    "follows": "sevat",
    "greets": "lomet",
    "finds": "tekut",
}
AND, AND_TARGET = "and", "ul"
MAX_CLAUSES = 8
PHRASE = (tuple(DETERMINERS), (None, *ADJECTIVES), tuple(NOUNS))  # None: no adjective
STEMS = ADJECTIVES | DETERMINERS | {"an": DETERMINERS["a"]}

KINDS = {
    "determiner": DETERMINERS,
    "adjective": ADJECTIVES,
    "noun": NOUNS,
    "verb": VERBS,
}
"""The kinds of source words, with their translations."""

SOURCE_WORDS = (*DETERMINERS, "an", *ADJECTIVES, *NOUNS, *VERBS, AND)
TARGET_WORDS = (
    *(stem + ending for stem in DETERMINERS.values() for ending in "ns"),
    *(stem + ending for stem in ADJECTIVES.values() for ending in "ns"),
    *NOUNS.values(),
    *VERBS.values(),
    AND_TARGET,
)


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and their word alignment.

    Attributes:
        source: The source words.
        target: The target words.
        alignment: For each target word, the position of the source word that it
            renders, or None for the connective, which renders no word of a clause.
            (The end-of-sentence token has no entry.)
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[int | None, ...]

    @property
    def clauses(self) -> int:
        """Number of clauses."""
        return self.source.count(AND) + 1


def sample_pair(clauses: int, rng: random.Random) -> Pair:
    """Sample a sentence, and translate it.

    Args:
        clauses: Number of clauses, from 1 to ``MAX_CLAUSES``.
        rng: Source of randomness; the same state gives the same sentence.

    Raises:
        ValueError: If ``clauses`` is out of range.
    """
    _check_clauses(clauses)
    source: list[str] = []
    for number in range(clauses):
        source += [AND] if number else []
        source += [*_sample_phrase(rng), rng.choice([*VERBS]), *_sample_phrase(rng)]
    return translate_by_rule(source)


def kind_of(word: str) -> str | None:
    """Return the kind of a source word, a key of :data:`KINDS`; None for *and*."""
    word = "a" if word == "an" else word
    return next((kind for kind, words in KINDS.items() if word in words), None)


def translate_by_rule(sentence: str | Sequence[str]) -> Pair:
    """Parse a sentence of the toy language and translate it.

    Args:
        sentence: Source words, as a list or as one string with spaces.

    Raises:
        ValueError: If a word is unknown or not allowed at its position; the message
            names the word, the position, and what is allowed there.
    """
    words = tuple(sentence.split() if isinstance(sentence, str) else sentence)
    if not words:
        raise ValueError(
            "the sentence is empty; give at least one clause, "
            "such as 'the old farmer sees a bird'"
        )
    for word in words:
        if word not in SOURCE_WORDS:
            raise ValueError(
                f"{word!r} is not a word of the toy language; "
                f"it knows {', '.join(sorted(SOURCE_WORDS))}"
            )
    _check_clauses(words.count(AND) + 1)
    target: list[str] = []
    alignment: list[int | None] = []
    position = 0
    while True:
        subject, position = _parse_phrase(words, position)
        _expect(words, position, VERBS, "a verb")
        verb, position = position, position + 1
        complement, position = _parse_phrase(words, position)
        for phrase in (subject, complement):
            target += _translate_phrase(words, phrase)
            alignment += reversed(phrase)
        target.append(VERBS[words[verb]])
        alignment.append(verb)
        if position == len(words):
            return Pair(words, tuple(target), tuple(alignment))
        _expect(words, position, (AND,), f"{AND!r} or the end of the sentence")
        target.append(AND_TARGET)
        alignment.append(None)
        position += 1


def is_sentence(sentence: str | Sequence[str]) -> bool:
    """Whether a sequence of words is a sentence of the toy language."""
    try:
        translate_by_rule(sentence)
    except ValueError:
        return False
    return True


def _sample_phrase(rng: random.Random) -> list[str]:
    """Sample a phrase, uniformly: 3 determiners, 6 adjectives or none, 12 nouns."""
    return phrase_words(*map(rng.choice, PHRASE))


def phrase_words(determiner: str, adjective: str | None, noun: str) -> list[str]:
    """The words of a phrase, *an* for *a* before a vowel."""
    rest = [adjective, noun] if adjective else [noun]
    return [_article(determiner, rest[0]), *rest]


def _article(determiner: str, following: str) -> str:
    """Write *an* for *a* before a vowel."""
    return "an" if determiner == "a" and following[0] in "aeiou" else determiner


def _parse_phrase(words: Sequence[str], position: int) -> tuple[range, int]:
    """Parse a phrase from a position on; return its positions and the one after it."""
    start = position
    _expect(words, position, (*DETERMINERS, "an"), "a determiner (the, a, an, this)")
    position += 1
    if position < len(words) and words[position] in ADJECTIVES:
        position += 1
        _expect(words, position, NOUNS, "a noun")
    else:
        _expect(words, position, NOUNS, "an adjective or a noun")
    determiner = "a" if words[start] == "an" else words[start]
    if words[start] != (article := _article(determiner, words[start + 1])):
        raise ValueError(
            f"word {start + 1} is {words[start]!r}, "
            f"but before {words[start + 1]!r} it must be {article!r}"
        )
    return range(start, position + 1), position + 1


def _translate_phrase(words: Sequence[str], phrase: range) -> list[str]:
    """Translate to noun, adjective, determiner, all with the noun's last letter."""
    noun = NOUNS[words[phrase[-1]]]
    return [noun, *(STEMS[words[i]] + noun[-1] for i in reversed(phrase[:-1]))]


def _expect(words: Sequence[str], position: int, allowed, what: str) -> None:
    if position >= len(words):
        raise ValueError(
            f"the sentence ends after {words[-1]!r}, where {what} must follow"
        )
    if words[position] not in allowed:
        raise ValueError(f"word {position + 1} is {words[position]!r}; expected {what}")


def _check_clauses(clauses: int) -> None:
    if not 1 <= clauses <= MAX_CLAUSES:
        raise ValueError(
            f"a sentence has 1 to {MAX_CLAUSES} clauses, not {clauses}; "
            "choose a number in that range, or cut the sentence at an 'and'"
        )
