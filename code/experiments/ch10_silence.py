"""Is saying nothing more probable than the best translation that a beam finds?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.core.vocabulary import EOS, PAD
from attnbook.data.batching import pad
from attnbook.decoding.beam import beam_search
from attnbook.decoding.scoring import log_probability
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import max_output_len
from attnbook.translation.translator import Translator
from experiments.registry import experiment

WIDTH, BATCH = 5, 32
LONGEST = 45


@experiment
def silence() -> dict:
    """Compare the empty translation of each validation caption with the beam's best.

    The shipped translator searches with a beam of five and without a length penalty.

    Returns:
        "captions": their number; "silent": how many have a more probable empty
        translation than the best hypothesis; "longest" and "longest_silent": the same
        among those with the most English subwords; "by_length": for each number of
        English subwords, captions and silent ones; "beam_empty": how many outputs of
        the beam are empty.
    """
    translator = Translator()
    encode = translator.subwords.encode
    texts = load_texts(translator.config, "val").source
    sources = sorted(([*encode(text), EOS] for text in texts), key=len)
    rows: list[tuple[int, bool, bool]] = []
    for start in range(0, len(sources), BATCH):
        group = sources[start : start + BATCH]
        empty, best, ids = compare(translator.model, pad(group))
        silent, is_empty = (empty > best).tolist(), (ids[:, 0] == EOS).tolist()
        lengths = [len(source) - 1 for source in group]
        rows += zip(lengths, silent, is_empty, strict=True)
    return {
        "captions": len(rows),
        "width": WIDTH,
        "silent": sum(row[1] for row in rows),
        "longest": LONGEST,
        "longest_silent": sum(row[1] for row in rows[-LONGEST:]),
        "beam_empty": sum(row[2] for row in rows),
        "by_length": by_length(rows),
    }


def compare(model, src: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities of nothing and of the beam's best, (B,), and its ids."""
    limits = [max_output_len(n) for n in (src != PAD).sum(1).tolist()]
    ids = beam_search(model, src, limits, WIDTH, alpha=0.0).ids[:, 0]
    nothing = torch.full((len(src), 1), EOS)
    return log_probability(model, src, nothing), log_probability(model, src, ids), ids


def by_length(rows: Sequence[tuple[int, bool, bool]]) -> list[list[int]]:
    """For each length: the length, its captions, and how many of them are silent."""
    lengths = sorted({row[0] for row in rows})
    groups = ([row[1] for row in rows if row[0] == length] for length in lengths)
    return [[n, len(g), sum(g)] for n, g in zip(lengths, groups, strict=True)]
