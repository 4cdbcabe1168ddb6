"""Signs that a text, or its translation, is beyond what a model has learned."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from attnbook.core.checks import check_texts
from attnbook.core.vocabulary import UNK
from attnbook.data.subwords import Subwords
from attnbook.translation.corpora import Texts

MANY_SUBWORDS = 1.6
"""More subwords per word than these are many, if a model has no number of its own.

Of Multi30k's English validation captions, 99 in 100 have no more under the subwords of
the shipped model.
"""

UNDECIDED = 4
"""The level of a subword that is as frequent in both languages; see `sides`."""

FOREIGN = 4
"""A text with this sum of levels, or more, is in the target's language (55 to 1)."""

REPEATED = re.compile(r"(.{2,40}?)\1\1")
"""Two to forty characters that stand three times in a row."""

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
ENTITY = re.compile(r"&#?[A-Za-z0-9]+;")


def usual_texts(train: Texts, val: Texts, subwords: Subwords) -> dict:
    """What the texts are like that a model learns from, for :func:`doubts_about_text`.

    Args:
        train: Its training split.
        val: Its validation split.
        subwords: Its subwords.

    Returns:
        By name:

        - ``many_subwords``: see :func:`many_subwords`
        - ``longest``: the subwords that 999 in 1,000 source sentences have at most
        - ``characters``: those of the source, the most frequent first
        - ``numbers``: those of the source, with spaces between them
        - ``sides``: a digit for each subword, from 0, which has it in the source alone,
          to 8, in the target alone: ln of the ratio of the frequencies, plus 4
    """
    encoded = [[e.ids for e in subwords.tokenizer.encode_batch(t)] for t in train]
    numbers = dict.fromkeys(n for text in train.source for n in NUMBER.findall(text))
    characters = Counter(" ".join(train.source))
    del characters[" "]
    counts = [Counter(i for ids in side for i in ids) for side in encoded]
    level = math.log(counts[0].total() / counts[1].total()) + UNDECIDED
    ratios = ((counts[1][i] + 0.5) / (counts[0][i] + 0.5) for i in range(len(subwords)))
    return {
        "many_subwords": many_subwords(val.source, subwords),
        "longest": quantile(map(len, encoded[0]), 0.999),
        "characters": "".join(sorted(characters, key=lambda c: (-characters[c], c))),
        "numbers": " ".join(numbers),
        "sides": "".join(
            str(min(8, max(0, round(level + math.log(ratio))))) for ratio in ratios
        ),
    }


def doubts_about_text(text: str, subwords: Subwords, usual: dict) -> list[str]:
    """Why a model will hardly translate a text well.

    Args:
        text: As :func:`~attnbook.translation.plain_text.plain_text` writes it.
        subwords: Those of the model.
        usual: As :func:`usual_texts` returns it, with ``languages``: the names of
            source and target. An entry that is missing gives no doubt;
            ``many_subwords`` is then :data:`MANY_SUBWORDS`.

    Returns:
        Reasons, each a clause that can stand in a warning.
    """
    source, target = usual.get("languages", ("the language", "another"))
    many = usual.get("many_subwords", MANY_SUBWORDS)
    count = len(subwords.pieces(text))
    foreign = sum(side_levels(text, subwords, usual)) >= FOREIGN
    unknown = unknown_characters(text, subwords, usual)
    found = []
    if unknown and not foreign:
        found.append(f"this model has no {' '.join(unknown)} and cannot read it")
    if text.isupper() and len(subwords.pieces(text.lower())) < count:
        found.append("it is in capitals, which this model hardly knows; use lower case")
    elif foreign:
        found.append(
            f"it reads more like {target} than like {source}, which this model "
            "translates"
        )
    elif subwords_per_word(text, subwords) > many and not unknown:
        word = max(words(text), key=lambda word: len(word_pieces(word, subwords)))
        parts = "-".join(word_pieces(word, subwords))
        found.append(
            f"words such as {word} are hardly known to this model, which reads it as "
            f"{parts}"
        )
    if count > (longest := usual.get("longest", count)):
        found.append(
            f"it has {count} subwords, and hardly a text it learned from has more than "
            f"{longest}"
        )
    numbers = NUMBER.findall(text)
    known = usual["numbers"].split() if "numbers" in usual else numbers
    if new := [number for number in numbers if number not in known]:
        found.append(f"numbers such as {new[0]} are new to this model")
    if entities := ENTITY.findall(text):
        found.append(f"it holds {entities[0]}, which stands for no character")
    return found


def doubts_about_translation(
    text: str,
    output: str,
    log_prob: float,
    method: str,
    subwords: Subwords,
    usual: dict,
) -> list[str]:
    """Why a translation is hardly a good one.

    Args:
        text: What was translated, as :func:`doubts_about_text` takes it.
        output: The translation.
        log_prob: Its log-probability per token.
        method: What found it: ``"greedy"`` or ``"beam"``.
        subwords: Those of the model.
        usual: As :func:`doubts_about_text` takes it, with ``unsure``: by method, the
            ``log_prob`` that the translations of 97 in 100 captions have at least.

    Returns:
        The doubts about the text, and reasons that the translation itself gives.
    """
    found = doubts_about_text(text, subwords, usual)
    if (part := repeated_part(output)) and not repeated_part(text):
        found.append(f"the translation repeats itself ({part} …); it is wrong there")
    if not found and log_prob < usual.get("unsure", {}).get(method, log_prob):
        found.append(
            "the model is less sure of this translation than of those of 97 captions "
            "in 100"
        )
    return found


def side_levels(text: str, subwords: Subwords, usual: dict) -> list[int]:
    """Below 0 for each subword of the source, above 0 for each of the target.

    Subwords without a letter don't count, and none if ``usual`` says nothing of them.
    """
    if not (sides := usual.get("sides")):
        return []
    encoded = subwords.tokenizer.encode(text)
    return [
        int(sides[i]) - UNDECIDED
        for i, piece in zip(encoded.ids, encoded.tokens, strict=True)
        if i != UNK and re.search(r"[^\W\d_]", piece)
    ]


def unknown_characters(text: str, subwords: Subwords, usual: dict) -> list[str]:
    """The different characters of a text that the model has not learned to read.

    Those that show nothing by themselves are named by their code points.
    """
    known = usual.get("characters", text)
    return [
        c if unicodedata.category(c)[0] in "LNPS" else f"U+{ord(c):04X}"
        for c in dict.fromkeys(text.replace(" ", ""))  # each once, in their order
        if c not in known or UNK in subwords.tokenizer.encode(c).ids
    ]


def words(text: str) -> list[str]:
    """The words of a text, without punctuation and without what holds a digit."""
    return [word for word in re.findall(r"\w+", text) if not re.search(r"\d", word)]


def word_pieces(word: str, subwords: Subwords) -> list[str]:
    """The subwords of a single word, without the sign of the space before it."""
    pieces = [piece.removeprefix("▁") for piece in subwords.pieces(word)]
    return [piece for piece in pieces if piece]


def subwords_per_word(text: str, subwords: Subwords) -> float:
    """How many subwords a word of a text has, on average; 0 without a word."""
    counts = [len(word_pieces(word, subwords)) for word in words(text)]
    return sum(counts) / len(counts) if counts else 0.0


def many_subwords(texts: Sequence[str], subwords: Subwords) -> float:
    """The subwords per word that 99 in 100 texts have at most."""
    check_texts(texts=texts)
    return quantile((subwords_per_word(text, subwords) for text in texts), 0.99)


def quantile(values: Iterable[float], share: float) -> float:
    """The one of some values that this share of them has at most."""
    ordered = sorted(values)
    return ordered[int(share * (len(ordered) - 1))]


def repeated_part(output: str) -> str:
    """The part of a translation that is repeated again and again, or ""."""
    found = (match[1] for match in REPEATED.finditer(f"{output} "))
    return next((part.strip() for part in found if re.search(r"[^\W\d]", part)), "")
