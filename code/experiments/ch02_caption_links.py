"""Does the caption translator attend to the words that it translates? Counted."""

from __future__ import annotations

import random
from itertools import islice

import torch
from torch import Tensor

from attnbook.analysis.ibm_model1 import diagonal
from attnbook.analysis.word_links import SURE, WordLinks
from attnbook.analysis.word_maps import word_weights, words
from attnbook.course.kit.explorers.shipped import shipped_bahdanau
from attnbook.data.batching import IdPair, id_batch
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.registry import experiment

LEARNED_FROM = 10_000
"""Training captions from which Model 1 learns."""
CAPTIONS = 160
FAR = 2
"""A word has moved if it is so many positions from the diagonal, or more."""


@experiment
def caption_links(seed: int = 0) -> dict:
    """Count in how many links a German word's largest weight is on its English word.

    Links are those of IBM Model 1, learned from training captions in both directions,
    between validation captions and the model's own translations.

    Returns:
        "links", those "found" by the weights and those on the "diagonal"; the same of
        words that have "moved".
    """
    translator = shipped_bahdanau()
    known = zip(*load_texts(translator.config, "train"), strict=True)
    links = WordLinks(
        [
            [words(translator.subwords.pieces(text)) for text in pair]
            for pair in islice(known, LEARNED_FROM)
        ]
    )
    captions = load_texts(translator.config, "val").source
    chosen = random.Random(seed).sample(captions, CAPTIONS)
    hits = []
    for caption, text in zip(chosen, translator(chosen, width=1), strict=True):
        weights, target, source = weights_of_words(translator, caption, text)
        straight = diagonal(IdPair(source[:-1], target[:-1]))
        for t, j in links.between(source, target).items():
            found = weights[t].argmax().item() == j
            hits.append((found, straight[t] == j, abs(straight[t] - j) >= FAR))
    moved = [hit for hit in hits if hit[2]]
    return {
        "learned from": LEARNED_FROM,
        "captions": CAPTIONS,
        "seed": seed,
        "sure": SURE,
        "links": len(hits),
        "found": sum(hit[0] for hit in hits),
        "diagonal": sum(hit[1] for hit in hits),
        "moved": {"links": len(moved), "found": sum(hit[0] for hit in moved)},
    }


@torch.no_grad()
def weights_of_words(
    translator: Translator, caption: str, text: str
) -> tuple[Tensor, list[str], list[str]]:
    """Attention weights between words: (T, S), the target and the source words."""
    subwords = translator.subwords
    batch = id_batch([IdPair(subwords.encode(caption), subwords.encode(text))])
    _, weights = translator.model(batch.src, batch.tgt_in, need_weights=True)
    pieces = ([*subwords.pieces(side), "<eos>"] for side in (text, caption))
    return word_weights(weights[0], *pieces)
