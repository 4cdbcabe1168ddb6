"""Chapter 2: the alignment of a translator with attention, on a caption typed in."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.analysis.word_maps import word_weights
from attnbook.course.ch02.figures import word_map_figure
from attnbook.course.kit.explorers.controls import Menu, TextBox
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.shipped import checked_caption, shipped_bahdanau
from attnbook.course.kit.explorers.views import View
from attnbook.data.batching import IdPair, id_batch

SENTENCE = "Two children are being watched by their mother."
CONTROLS = {
    "caption": TextBox("English caption", SENTENCE),
    "unit": Menu("rows and columns", ("words", "subwords"), "words"),
}
CAPTION = (
    "**Where the word order differs, the alignment leaves the diagonal.** "
    "Bahdanau's model, trained on captions of photographs, translates the text. Darker "
    "cells have more weight, and each row sums to 100 %. Words that are rare in its "
    "training data are translated badly."
)


class Aligned(NamedTuple):
    """A translated caption with the weights of each step."""

    text: str
    weights: Tensor  # (T, S)
    target: list[str]  # T subwords, EOS included
    source: list[str]  # S subwords, EOS included


def explore_caption_alignment() -> object:
    """Let the reader type a caption; see :func:`~.explorer.explore`.

    The model is the trained one that comes with the package.
    """
    return explore(alignment_view, CONTROLS, caption=CAPTION)


def alignment_view(caption: str, unit: str) -> View:
    """The translation of a caption, and its attention weights."""
    found = aligned(caption)
    weights, target, source = found[1:]
    if unit == "words":
        weights, target, source = word_weights(weights, target, source)
    best = zip(target, *(x.tolist() for x in weights.max(-1)), strict=True)
    peaks = "; ".join(f"{row}: {source[j]}, {w:.0%}" for row, w, j in best)
    figure = word_map_figure(weights, target, source)
    return View(f"Translation: {found.text}", figure, f"Largest weights: {peaks}.")


@lru_cache(maxsize=16)
def aligned(caption: str) -> Aligned:
    """Translate a caption by beam search, and compute the weights of each step."""
    translator = shipped_bahdanau()
    subwords = translator.subwords
    caption = checked_caption(caption, subwords)
    [text] = translator([caption])
    ids = IdPair(subwords.encode(caption), subwords.encode(text))
    batch = id_batch([ids])
    with torch.no_grad():
        _, weights = translator.model(batch.src, batch.tgt_in, need_weights=True)
    target, source = ([*subwords.pieces(t), "<eos>"] for t in (text, caption))
    return Aligned(text, weights[0], target, source)
