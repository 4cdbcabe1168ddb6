"""Does the caption translator attend to the words that it translates? Counted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice

import torch
from torch import Tensor

from attnbook.analysis.ibm_model1 import TranslationTable, diagonal, train_ibm_model1
from attnbook.analysis.word_maps import word_groups, word_weights
from attnbook.course.kit.experiments import experiment
from attnbook.course.kit.explorers.shipped import shipped_bahdanau
from attnbook.data.batching import IdPair, id_batch
from attnbook.data.subwords import Subwords
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator

LEARNED_FROM = 10_000
"""Training captions from which Model 1 learns."""
CAPTIONS = 160
SURE = 0.3
"""The least probability of a link, in both directions."""
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
    linker = Linker(
        [
            [words_of(translator.subwords, text) for text in pair]
            for pair in islice(known, LEARNED_FROM)
        ]
    )
    captions = load_texts(translator.config, "val").source
    chosen = random.Random(seed).sample(captions, CAPTIONS)
    hits = []
    for caption, text in zip(chosen, translator(chosen, width=1), strict=True):
        weights, target, source = weights_of_words(translator, caption, text)
        target, source = ([w.lower() for w in side] for side in (target, source))
        straight = diagonal(IdPair(source[:-1], target[:-1]))
        for t, j in linker.links(source, target).items():
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


def words_of(subwords: Subwords, text: str) -> list[str]:
    """The words of a text in lower case, each punctuation mark a word of its own."""
    pieces = subwords.pieces(text)
    groups = word_groups(pieces)
    joined = ("".join(pieces[i] for i in group) for group in groups)
    return [word.replace("▁", "").lower() for word in joined]


class Linker:
    """Links words that are each other's translation, by IBM Model 1 both ways.

    Args:
        pairs: Words of sentences and of their translations, to learn from.
    """

    def __init__(self, pairs: Sequence[Sequence[list[str]]]):
        self.ids: dict[str, int] = {}
        known = [IdPair(*map(self._encode, pair)) for pair in pairs]
        self.there = train_ibm_model1(known)
        self.back = train_ibm_model1([IdPair(*pair[::-1]) for pair in known])

    def _encode(self, words: Sequence[str]) -> list[int]:
        return [self.ids.setdefault(word, len(self.ids)) for word in words]

    def links(self, source: Sequence[str], target: Sequence[str]) -> dict[int, int]:
        """The target positions that are linked, each with its source position."""
        s, t = self._encode(source), self._encode(target)
        forth = [_best(self.there, s, word) for word in t]
        back = [_best(self.back, t, word) for word in s]
        return {
            i: j
            for i, j in enumerate(forth)
            if j is not None
            and back[j] == i
            and target[i].isalpha()
            and source[j].isalpha()
        }


def _best(table: TranslationTable, candidates: Sequence[int], word: int) -> int | None:
    """The position of the most probable origin of a word, if it is probable enough."""
    scores = [table.get((candidate, word), 0.0) for candidate in candidates]
    best = max(range(len(scores)), key=scores.__getitem__)
    return best if scores[best] >= SURE else None
