"""Wider and wider beams without a length penalty, and the exact search at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from attnbook.core.vocabulary import EOS
from attnbook.translation.bleu_score import corpus_scores, paired_bootstrap
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.ch10_exact_search import (
    EXACT,
    MOST,
    Found,
    beam_outputs,
    describe,
    search_all,
)
from experiments.registry import experiment

CAPTIONS = 300  # as many as multi30k_beams decodes, which has a penalty
WIDTHS = (1, 2, 3, 5, 8, 12)
COMPARED = ((2, 1), (2, 12))


@experiment
def without_penalty() -> dict:
    """Decode the first validation captions with α = 0, more and more thoroughly.

    Returns:
        "captions"; "runs": by width what :func:`scores` finds; "comparisons": pairs of
        widths with the p-value of a paired bootstrap; "settled": captions whose exact
        search stayed within its limit; "ways": :func:`scores` of these alone, for
        greedy decoding, the widest beam and the exact search.
    """
    translator = Translator()
    source, wanted = (x[:CAPTIONS] for x in load_texts(translator.config, "val"))
    sources = [[*translator.subwords.encode(text), EOS] for text in source]
    model, found, runs = translator.model, {}, []
    for width in WIDTHS:
        found[width] = beam_outputs(model, sources, width, alpha=0.0)
        runs.append({"width": width, **scores(translator, found[width], wanted)})
        print(f"  {runs[-1]}", flush=True)
    ways = {"greedy": found[1], f"beam of {WIDTHS[-1]}": found[WIDTHS[-1]]}
    known = zip(*found.values(), strict=True)
    best = [
        search_all(model, torch.tensor([ids]), some, MOST)[0]
        for ids, some in zip(sources, known, strict=True)
    ]
    settled = [i for i, one in enumerate(best) if one]
    references = [wanted[i] for i in settled]
    texts = {w: [translator.subwords.decode(ids) for _, ids in found[w]] for w in found}
    return {
        "captions": len(source),
        "runs": runs,
        "comparisons": [
            {
                "widths": pair,
                **paired_bootstrap(*map(texts.get, pair), wanted)._asdict(),
            }
            for pair in COMPARED
        ],
        "settled": len(settled),
        "ways": {
            name: scores(translator, [outputs[i] for i in settled], references)
            for name, outputs in {**ways, EXACT: best}.items()
        },
    }


def scores(
    translator: Translator, outputs: Sequence[Found], references: Sequence[str]
) -> dict[str, float]:
    """What ``describe`` finds, and the factor of BLEU that punishes short outputs."""
    texts = [translator.subwords.decode(ids) for _, ids in outputs]
    ratio = corpus_scores(texts, references).length_ratio
    brevity = round(min(1.0, math.exp(1 - 1 / ratio)), 4)
    return {**describe(translator, outputs, references), "brevity": brevity}
