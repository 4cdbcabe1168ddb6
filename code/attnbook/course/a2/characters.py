"""Predicting the next character of English sentences, one after another in a stream.

The text is what an untiring author of the toy language would write: sentences of one or
two clauses, each on a line of its own. Its grammar is known, and with it the least loss
that any model can reach on average.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import torch
from torch import Tensor

from attnbook.core.checks import check_sizes, check_texts
from attnbook.core.vocabulary import Vocabulary
from attnbook.toy.data import toy_pairs
from attnbook.toy.language import AND, PHRASE, SOURCE_WORDS, VERBS, phrase_words

LINE_END = "\n"
CHARACTERS = Vocabulary(sorted({LINE_END, " ", *"".join(SOURCE_WORDS)}))
"""The letters of the source words, the space, and the end of a line."""

_PHRASES = [" ".join(phrase_words(*parts)) for parts in product(*PHRASE)]
_SUBJECTS = {f"{phrase} ": 1 / len(_PHRASES) for phrase in _PHRASES}
_VERBS = {f"{verb} ": 1 / len(VERBS) for verb in VERBS}
_LAST = {f"{phrase}{LINE_END}": 1 / len(_PHRASES) for phrase in _PHRASES}
_FIRST = {
    f"{phrase}{end}": 0.5 / len(_PHRASES)
    for phrase in _PHRASES
    for end in (LINE_END, f" {AND} ")
}
_SEGMENTS = (_SUBJECTS, _VERBS, _FIRST, _SUBJECTS, _VERBS, _LAST)
"""What a sentence is made of: no string begins another of the same segment."""


def character_texts(seed: int, length: int) -> Iterator[str]:
    """Cut the endless text into pieces that begin with a sentence.

    Args:
        seed: The same seed gives the same text.
        length: Characters of each piece.

    Yields:
        The end of a line, and then as many characters as asked for, the last sentence
        mostly cut off.
    """
    check_sizes(length=length)
    pairs = toy_pairs(seed, clauses=(1, 2))
    while True:
        text = LINE_END
        while len(text) <= length:
            text += " ".join(next(pairs).source) + LINE_END
        yield text[: length + 1]


def encode_characters(texts: Sequence[str]) -> Tensor:
    """Turn B texts of one length into ids, (B, length)."""
    check_texts(texts=texts)
    return torch.tensor([CHARACTERS.encode([*text]) for text in texts])


def character_batches(
    seed: int, length: int, batch_size: int = 32
) -> Iterator[tuple[Tensor, Tensor]]:
    """Fresh text without end.

    Args:
        seed: The same seed gives the same text.
        length: Characters of a row, T.
        batch_size: Rows, B.

    Yields:
        Ids, (B, T), and targets, (B, T): the next character of each.
    """
    texts = character_texts(seed, length)
    while True:
        ids = encode_characters([next(texts) for _ in range(batch_size)])
        yield ids[:, :-1], ids[:, 1:]


def least_loss(text: str) -> list[float]:
    """The loss of a model that knows the grammar, at each character of a text.

    Args:
        text: Begins with the end of a line, as those of :func:`character_texts`.

    Returns:
        -log p of each character after the first, in nats, given those before it.

    Raises:
        ValueError: If the text is none of the toy language.
    """
    if not text.startswith(LINE_END):
        raise ValueError(
            f"the text begins with {text[:1]!r}; let it begin with the end of a line"
        )
    losses, number, begun, before = [], 0, "", 1.0
    for place, character in enumerate(text[1:], 1):
        begun += character
        segment = _SEGMENTS[number]
        now = sum(p for string, p in segment.items() if string.startswith(begun))
        if not now:
            raise ValueError(
                f"{text[: place + 1]!r} is no beginning of a text of the toy language: "
                "give lines of one or two clauses, the first after the end of a line"
            )
        losses.append(math.log(before / now))
        before = now
        if begun in segment:
            number = 0 if begun.endswith(LINE_END) else number + 1
            begun, before = "", 1.0
    return losses
