"""How good translations are: BLEU with its signature, and whether a gain is chance."""

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
    """BLEU of a whole test set, from 0 to 100, with what it was computed by."""

    bleu: float
    signature: str


def corpus_bleu(
    translations: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> Score:
    """Score translations by sacreBLEU, tokenised as mteval-v13a does: Post 2018.

    Args:
        translations: Plain text, not tokenised.
        references: One for each.
        lowercase: Whether to compare all text small, as the papers on Multi30k do.

    Raises:
        ValueError: If there are none, or not as many of both.
    """
    _check_lengths(translations, references)
    metric = BLEU(lowercase=lowercase, force=True)
    score = metric.corpus_score(list(translations), [list(references)])
    return Score(score.score, str(metric.get_signature()))


class Comparison(NamedTuple):
    """Two systems on the same sentences."""

    bleu: float
    other: float
    p_value: float  # how often chance alone would make so large a difference


def compare(
    translations: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    draws: int = 1000,
) -> Comparison:
    """Compare two systems by the paired bootstrap: Koehn 2004.

    Args:
        translations: Of the one.
        others: Of the other.
        references: One for each sentence.
        lowercase: As in :func:`bleu`.
        draws: How many sets of sentences to draw; seeded by sacreBLEU.

    Raises:
        ValueError: If the three are not of one length.
    """
    _check_lengths(translations, references)
    _check_lengths(others, references)
    # The first of the named systems is the one that the others are compared with.
    test = PairedTest(
        [("other", list(others)), ("one", list(translations))],
        {"BLEU": BLEU(lowercase=lowercase, force=True)},
        [list(references)],
        test_type="bs",
        n_samples=draws,
    )
    _, scores = test()
    other, one = scores["BLEU"]
    # Of two equal systems sacreBLEU says the smallest p there is.
    p_value = one.p_value if one.score != other.score else 1.0
    return Comparison(one.score, other.score, p_value)


def _check_lengths(translations: Sequence[str], references: Sequence[str]) -> None:
    """Raise a ValueError unless there are as many of both, and not none."""
    if len(translations) != len(references) or not references:
        raise ValueError(
            f"{len(translations)} translations and {len(references)} references; give "
            "one reference for each translation, and at least one"
        )


def beam_translate(
    model: nn.Module,
    subwords: Subwords,
    sentences: Sequence[str],
    width: int = 5,
    alpha: float = 1.0,
    batch_tokens: int = 4096,
) -> list[str]:
    """Translate sentences, in batches of like length.

    Args:
        model: A trained one, with ``start`` and ``step``.
        subwords: Those it was trained with.
        sentences: Plain text.
        width: Beam width; 1 is greedy decoding.
        alpha: Length penalty of beam search.
        batch_tokens: Source places times width that a batch may have.

    Returns:
        Plain text, in the order of ``sentences``.

    Raises:
        ValueError: If a sentence is empty, or ``width`` not a whole number from 1 on.
    """
    check_sizes(width=width)
    device = next(model.parameters()).device
    ids = [[*subwords.encode(sentence), EOS] for sentence in sentences]
    out: list[str] = [""] * len(ids)
    for group in _groups(ids, batch_tokens // width):
        src = pad([ids[i] for i in group]).to(device)
        max_len = max_output_len(src.shape[1])
        if width == 1:
            said = greedy(model, src, max_len)
        else:
            said = beam_search(model, src, max_len, width, alpha).ids[:, 0]
        for i, words in zip(group, said.tolist(), strict=True):
            out[i] = subwords.decode(words)
    return out


def max_output_len(source_length: int) -> int:
    """Words a translation may have; as in Vaswani et al. 2017, section 6.1."""
    return source_length + 50


def _groups(ids: Sequence[Sequence[int]], places: int) -> Iterator[list[int]]:
    """Numbers of the sentences that go together, longest first."""
    group: list[int] = []
    for i in sorted(range(len(ids)), key=lambda i: -len(ids[i])):
        if group and (len(group) + 1) * len(ids[group[0]]) > places:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def best_alpha(
    model: nn.Module,
    subwords: Subwords,
    sentences: Sequence[str],
    references: Sequence[str],
    width: int = 5,
    alphas: Sequence[float] = (0.0, 0.6, 1.0, 1.4, 1.8),
) -> dict[float, float]:
    """BLEU on the validation split by length penalty; take the best one's."""
    return {
        alpha: corpus_bleu(
            beam_translate(model, subwords, sentences, width, alpha), references
        ).bleu
        for alpha in alphas
    }
