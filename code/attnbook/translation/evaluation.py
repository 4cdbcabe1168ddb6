"""Evaluation: batch translation, BLEU with its signature, and significance tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from torch import nn

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import EOS
from attnbook.data.batching import pad
from attnbook.data.subwords import Subwords
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy


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
        ValueError: If there are none, or not as many references as hypotheses.
    """
    _check_lengths(hypotheses, references)
    metric = BLEU(lowercase=lowercase, force=True)
    score = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(score.score, str(metric.get_signature()))


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


def _check_lengths(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise a ValueError unless there are as many of both, and at least one."""
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            f"{len(hypotheses)} hypotheses and {len(references)} references; give "
            "one reference for each hypothesis, and at least one"
        )


def beam_translate(
    model: nn.Module,
    subwords: Subwords,
    sentences: Sequence[str],
    width: int = 5,
    alpha: float = 1.0,
    batch_tokens: int = 4096,
) -> list[str]:
    """Translate sentences by beam search, in batches of similar length.

    Args:
        model: A trained model with ``start`` and ``step``.
        subwords: The subwords that it was trained with.
        sentences: Plain text.
        width: Beam width; 1 is greedy decoding.
        alpha: α of the length penalty.
        batch_tokens: Maximum of source positions times width per batch.

    Returns:
        Plain text, in the order of ``sentences``.

    Raises:
        ValueError: If a sentence is empty, or ``width`` is not a whole number from 1
            on.
    """
    check_sizes(width=width)
    device = next(model.parameters()).device
    ids = [[*subwords.encode(sentence), EOS] for sentence in sentences]
    translations: list[str] = [""] * len(ids)
    for group in _groups(ids, batch_tokens // width):
        src = pad([ids[i] for i in group]).to(device)
        max_len = max_output_len(src.shape[1])
        if width == 1:
            output = greedy(model, src, max_len)
        else:
            output = beam_search(model, src, max_len, width, alpha).ids[:, 0]
        for i, row in zip(group, output.tolist(), strict=True):
            translations[i] = subwords.decode(row)
    return translations


def max_output_len(source_length: int) -> int:
    """Maximum length of a translation: Vaswani et al. 2017, section 6.1."""
    return source_length + 50


def _groups(ids: Sequence[Sequence[int]], max_positions: int) -> Iterator[list[int]]:
    """Indices of the sentences of each batch, the longest first."""
    group: list[int] = []
    for i in sorted(range(len(ids)), key=lambda i: -len(ids[i])):
        if group and (len(group) + 1) * len(ids[group[0]]) > max_positions:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def bleu_by_alpha(
    model: nn.Module,
    subwords: Subwords,
    sentences: Sequence[str],
    references: Sequence[str],
    width: int = 5,
    alphas: Sequence[float] = (0.0, 0.6, 1.0, 1.4, 1.8),
) -> dict[float, float]:
    """BLEU for each α of the length penalty, to choose α on validation data."""
    return {
        alpha: corpus_bleu(
            beam_translate(model, subwords, sentences, width, alpha), references
        ).bleu
        for alpha in alphas
    }
