"""BLEU in a few lines: Papineni et al. 2002, section 2."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from attnbook.core.checks import check_sizes, check_texts

Words = Sequence[str]


def ngrams(words: Words, n: int) -> Counter:
    """Count the n-grams of a sentence."""
    check_texts(words=words)
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def matching_ngrams(hypothesis: Words, reference: Words, n: int) -> int:
    """Number of matching n-grams: each counts at most as often as in the reference."""
    return (ngrams(hypothesis, n) & ngrams(reference, n)).total()


def modified_precision(
    hypotheses: Sequence[Words], references: Sequence[Words], n: int
) -> float:
    """Modified n-gram precision: matching n-grams divided by all of the hypotheses.

    Raises:
        ValueError: If n is not 1 or more, or no hypothesis has n words.
    """
    check_sizes(n=n)
    total = sum(ngrams(words, n).total() for words in hypotheses)
    if total == 0:
        raise ValueError(f"no sentence has {n} words; BLEU needs longer ones")
    pairs = zip(hypotheses, references, strict=True)
    return sum(matching_ngrams(h, r, n) for h, r in pairs) / total


def brevity_penalty(hypotheses: Sequence[Words], references: Sequence[Words]) -> float:
    """1 unless the hypotheses are shorter in total than the references, else less."""
    for words in (*hypotheses, *references):
        check_texts(words=words)
    c, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
    if c >= r:
        return 1.0
    return math.exp(1 - r / c) if c else 0.0  # the limit for ever shorter hypotheses


def bleu(hypotheses: Sequence[Words], references: Sequence[Words]) -> float:
    r"""BLEU of a test set, from 0 to 100: :math:`BP (p_1 p_2 p_3 p_4)^{1/4}`.

    Args:
        hypotheses: Translations, as lists of words.
        references: One for each hypothesis.

    Raises:
        ValueError: If there are not as many references as hypotheses, or no hypothesis
            has four words.
    """
    precisions = [modified_precision(hypotheses, references, n) for n in (1, 2, 3, 4)]
    return 100 * brevity_penalty(hypotheses, references) * math.prod(precisions) ** 0.25
