"""BLEU, in a few lines: Papineni et al. 2002, section 2."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Words = Sequence[str]


def ngrams(words: Words, n: int) -> Counter:
    """Count the runs of n words."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def matches(said: Words, reference: Words, n: int) -> int:
    """Runs of n words that are in the reference too, none more often than there."""
    return (ngrams(said, n) & ngrams(reference, n)).total()


def precision(said: Sequence[Words], references: Sequence[Words], n: int) -> float:
    """Modified precision: matches over all sentences, by the runs that were said.

    Raises:
        ValueError: If no sentence has n words.
    """
    runs = sum(ngrams(words, n).total() for words in said)
    if runs == 0:
        raise ValueError(f"no sentence has {n} words; BLEU needs longer ones")
    pairs = zip(said, references, strict=True)
    return sum(matches(words, right, n) for words, right in pairs) / runs


def brevity_penalty(said: Sequence[Words], references: Sequence[Words]) -> float:
    """1 if as much was said as there is in the references, else less."""
    c, r = (sum(map(len, sentences)) for sentences in (said, references))
    return 1.0 if c > r else math.exp(1 - r / c)


def bleu(said: Sequence[Words], references: Sequence[Words]) -> float:
    r"""BLEU of a test set, from 0 to 100: :math:`BP (p_1 p_2 p_3 p_4)^{1/4}`.

    Args:
        said: Translations, as lists of words.
        references: One for each.

    Raises:
        ValueError: If there are not as many of both, or no sentence has four words.
    """
    product = math.prod(precision(said, references, n) for n in (1, 2, 3, 4))
    return 100 * brevity_penalty(said, references) * product**0.25
