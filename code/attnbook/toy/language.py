"""The toy language: English-like sentences and their translation.

Every model of the course learns to translate it. It is small enough to be learned in
half a minute on a laptop, and regular enough that the right answer, and which source
word each target word renders, is known for every sentence.

Source: one to eight clauses joined by *and*. A clause is a phrase, a verb, a phrase; a
phrase is a determiner, perhaps an adjective, and a noun::

    the old farmer sees a bird
    phrase         verb phrase

Target: the verb goes to the end of its clause, each phrase is turned round (noun,
adjective, determiner), and every word of a phrase ends in the last letter of its noun::

    maron velin ken  lipas dos  mirat
    farmer old  the  bird  a    sees

So word order changes over short and long distances, and two words of a phrase cannot be
translated without looking at a third.
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
# Stems: the noun's last letter, n or s, is added.
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
    """A sentence, its translation, and which word renders which.

    Attributes:
        source: The source words.
        target: The target words.
        alignment: One entry a target word: the index of the source word that it
            renders, or None for the connective, which renders no word of a clause.
            (The end-of-sentence token is not a word and has no entry.)
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[int | None, ...]

    @property
    def clauses(self) -> int:
        """Number of clauses."""
        return self.source.count(AND) + 1


def sample_pair(clauses: int, rng: random.Random) -> Pair:
    """Draw a sentence at random, and translate it.

    Args:
        clauses: How many clauses, from 1 to ``MAX_CLAUSES``.
        rng: Source of randomness; the same state gives the same sentence.

    Returns:
        The pair.

    Raises:
        ValueError: If ``clauses`` is out of range.
    """
    _check_clauses(clauses)
    source: list[str] = []
    for number in range(clauses):
        source += [AND] if number else []
        source += [*_sample_phrase(rng), rng.choice([*VERBS]), *_sample_phrase(rng)]
    return translate_by_rule(source)


def translate_by_rule(sentence: str | Sequence[str]) -> Pair:
    """Parse a sentence of the toy language and translate it.

    Args:
        sentence: Source words, as a list or as one string with spaces.

    Returns:
        The sentence, its translation and their alignment.

    Raises:
        ValueError: If a word is unknown, or stands where it may not; the message names
            the word, its place, and what could stand there.
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
    place = 0
    while True:
        subject, place = _parse_phrase(words, place)
        _expect(words, place, VERBS, "a verb")
        verb, place = place, place + 1
        complement, place = _parse_phrase(words, place)
        for phrase in (subject, complement):
            target += _translate_phrase(words, phrase)
            alignment += reversed(phrase)
        target.append(VERBS[words[verb]])
        alignment.append(verb)
        if place == len(words):
            return Pair(words, tuple(target), tuple(alignment))
        _expect(words, place, (AND,), f"{AND!r} or the end of the sentence")
        target.append(AND_TARGET)
        alignment.append(None)
        place += 1


def is_sentence(sentence: str | Sequence[str]) -> bool:
    """Say whether a sequence of words is a sentence of the toy language."""
    try:
        translate_by_rule(sentence)
    except ValueError:
        return False
    return True


def _sample_phrase(rng: random.Random) -> list[str]:
    """Draw a phrase; each of 3 determiners, 6 adjectives or none, 12 nouns alike."""
    determiner, adjective, noun = map(rng.choice, PHRASE)
    rest = [adjective, noun] if adjective else [noun]
    return [_article(determiner, rest[0]), *rest]


def _article(determiner: str, following: str) -> str:
    """Write *an* for *a* before a vowel."""
    return "an" if determiner == "a" and following[0] in "aeiou" else determiner


def _parse_phrase(words: Sequence[str], place: int) -> tuple[range, int]:
    """Return the places of a phrase that begins at ``place``, and the place behind."""
    start = place
    _expect(words, place, (*DETERMINERS, "an"), "a determiner (the, a, an, this)")
    place += 1
    if place < len(words) and words[place] in ADJECTIVES:
        place += 1
        _expect(words, place, NOUNS, "a noun")
    else:
        _expect(words, place, NOUNS, "an adjective or a noun")
    determiner = "a" if words[start] == "an" else words[start]
    if words[start] != (right := _article(determiner, words[start + 1])):
        raise ValueError(
            f"word {start + 1} is {words[start]!r}, "
            f"but before {words[start + 1]!r} it must be {right!r}"
        )
    return range(start, place + 1), place + 1


def _translate_phrase(words: Sequence[str], phrase: range) -> list[str]:
    """Noun, adjective, determiner; all with the noun's last letter."""
    noun = NOUNS[words[phrase[-1]]]
    return [noun, *(STEMS[words[i]] + noun[-1] for i in reversed(phrase[:-1]))]


def _expect(words: Sequence[str], place: int, allowed, what: str) -> None:
    if place >= len(words):
        raise ValueError(
            f"the sentence ends after {words[-1]!r}, where {what} must follow"
        )
    if words[place] not in allowed:
        raise ValueError(
            f"word {place + 1} is {words[place]!r}, but {what} must stand there"
        )


def _check_clauses(clauses: int) -> None:
    if not 1 <= clauses <= MAX_CLAUSES:
        raise ValueError(
            f"a sentence has 1 to {MAX_CLAUSES} clauses, not {clauses}; "
            "choose a number in that range, or cut the sentence at an 'and'"
        )
