"""BLEU and chrF with their signatures, and significance tests, all by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.bleu import BLEUScore
from sacrebleu.significance import PairedTest

from attnbook.core.checks import check_texts


class Score(NamedTuple):
    """BLEU of a whole test set, from 0 to 100, with sacreBLEU's signature."""

    bleu: float
    signature: str


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> Score:
    """BLEU by sacreBLEU, with the tokenisation of mteval-v13a: Post 2018.

    Args:
        hypotheses: Translations, as plain text.
        references: One for each hypothesis.
        lowercase: Whether to lowercase all text, as the papers on Multi30k do.

    Raises:
        ValueError: If there are none, not as many references as hypotheses, or no word
            in the references.

    Examples:
        >>> hypotheses, references = ["a dog runs in snow"], ["a dog runs in the snow"]
        >>> round(corpus_bleu(hypotheses, references).bleu, 1)
        57.9
    """
    _check_lengths(hypotheses, references)
    metric = BLEU(lowercase=lowercase, force=True)
    score = metric.corpus_score(list(hypotheses), [list(references)])
    _check_words(score)
    return Score(score.score, str(metric.get_signature()))


class Scores(NamedTuple):
    """BLEU and chrF of a whole test set, from 0 to 100, with sacreBLEU's signatures."""

    bleu: float
    signature: str
    chrf: float
    chrf_signature: str
    length_ratio: float  # tokens of the hypotheses per token of the references


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> Scores:
    """Score translations in two ways: BLEU counts words, chrF characters.

    BLEU is that of :func:`corpus_bleu`. chrF, of Popović 2015, is the F-score of
    character n-grams up to six, with recall twice as important as precision; it gives
    credit for a right stem with a wrong ending.

    Args:
        hypotheses: Translations, as plain text.
        references: One for each hypothesis.
        lowercase: Whether to lowercase all text first.

    Raises:
        ValueError: As :func:`corpus_bleu`.
    """
    _check_lengths(hypotheses, references)
    both = list(hypotheses), [list(references)]
    words = BLEU(lowercase=lowercase, force=True)
    characters = CHRF(lowercase=lowercase)
    bleu, chrf = words.corpus_score(*both), characters.corpus_score(*both)
    _check_words(bleu)
    return Scores(
        bleu.score,
        str(words.get_signature()),
        chrf.score,
        str(characters.get_signature()),
        bleu.sys_len / bleu.ref_len,
    )


class Comparison(NamedTuple):
    """BLEU of two systems on the same sentences, and the significance."""

    bleu: float
    other: float
    p_value: float  # probability of such a difference if the systems are equal


def paired_bootstrap(
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    n_samples: int = 1000,
) -> Comparison:
    """Compare two systems by paired bootstrap resampling: Koehn 2004.

    Args:
        hypotheses: Translations of the first system.
        others: Translations of the second.
        references: One for each sentence.
        lowercase: As in :func:`corpus_bleu`.
        n_samples: Number of bootstrap samples; seeded by sacreBLEU.

    Raises:
        ValueError: If the three do not have the same length.
    """
    _check_lengths(hypotheses, references)
    _check_lengths(others, references)
    # The first system is the baseline that the others are compared with.
    test = PairedTest(
        [("other", list(others)), ("one", list(hypotheses))],
        {"BLEU": BLEU(lowercase=lowercase, force=True)},
        [list(references)],
        test_type="bs",
        n_samples=n_samples,
    )
    _, scores = test()
    other, one = scores["BLEU"]
    # For two equal systems sacreBLEU returns the smallest possible p.
    p_value = one.p_value if one.score != other.score else 1.0
    return Comparison(one.score, other.score, p_value)


def _check_words(score: BLEUScore) -> None:
    """Raise a ValueError if there was nothing to compare hypotheses with."""
    if not score.ref_len:
        raise ValueError("no reference has a word; give one that isn't empty")


def _check_lengths(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise a ValueError unless there are as many texts of both, and at least one."""
    check_texts(hypotheses=hypotheses, references=references)
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            f"{len(hypotheses)} hypotheses and {len(references)} references; give "
            "one reference for each hypothesis, and at least one"
        )
