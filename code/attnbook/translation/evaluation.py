"""Translation in batches by beam search, and the choice of the length penalty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import nn

from attnbook.core.checks import check_sizes, check_some, check_texts
from attnbook.core.devices import model_device
from attnbook.core.vocabulary import EOS, PAD
from attnbook.data.batching import pad
from attnbook.data.subwords import Subwords
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.scoring import log_probability
from attnbook.translation.bleu_score import corpus_bleu


def beam_translate(
    model: nn.Module,
    subwords: Subwords,
    sentences: Sequence[str],
    width: int = 5,
    alpha: float = 1.0,
    batch_tokens: int = 4096,
    scored: bool = False,
) -> list[str] | list[tuple[str, float]]:
    """Translate sentences by beam search, in batches of similar length.

    Args:
        model: A trained model with ``start`` and ``step``.
        subwords: The subwords that it was trained with.
        sentences: Plain text.
        width: Beam width; 1 is greedy decoding.
        alpha: α of the length penalty.
        batch_tokens: Maximum of source positions times width per batch.
        scored: Whether log-probabilities are returned as well.

    Returns:
        Plain text, in the order of ``sentences``; if ``scored``, each with its
        log-probability per token, EOS included.

    Raises:
        ValueError: If a sentence is empty, or ``width`` is not a whole number from 1
            on.
    """
    check_texts(sentences=sentences)
    check_sizes(width=width)
    device = model_device(model)
    ids = [[*subwords.encode(sentence), EOS] for sentence in sentences]
    translations: list[str] = [""] * len(ids)
    log_probs = [0.0] * len(ids)
    for group in _groups(ids, batch_tokens // width):
        src = pad([ids[i] for i in group]).to(device)
        limits = [max_output_len(len(ids[i])) for i in group]
        if width == 1:
            output = greedy(model, src, limits)
        else:
            found = beam_search(model, src, limits, width, alpha)
            output = found.ids[:, 0]
        for i, row in zip(group, output.tolist(), strict=True):
            translations[i] = subwords.decode(row)
        if scored:
            means = log_probability(model, src, output) / (output != PAD).sum(1)
            for i, mean in zip(group, means.tolist(), strict=True):
                log_probs[i] = mean
    return [*zip(translations, log_probs, strict=True)] if scored else translations


def max_output_len(source_length: int) -> int:
    """Maximum length of a translation: Vaswani et al. 2017, section 6.1."""
    return source_length + 50


def runaway_share(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Share of outputs with more than twice as many words as their reference.

    Most are loops that run up to the maximum length: a sign of an untrained model.

    Raises:
        ValueError: If there is no output, or not as many references.
    """
    check_some(outputs, "output")
    check_texts(outputs=outputs, references=references)
    pairs = zip(outputs, references, strict=True)
    long = [len(output.split()) > 2 * len(right.split()) for output, right in pairs]
    return sum(long) / len(long)


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
            beam_translate(model, subwords, sentences, width, alpha),
            references,
        ).bleu
        for alpha in alphas
    }
