"""Chapter 12: the heads of the trained translator, on a caption that is typed."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from torch import Tensor

from attnbook.analysis.maps import attention_maps
from attnbook.course.kit.explorers.controls import TextBox
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.shipped import checked_caption, shipped_translator
from attnbook.course.kit.explorers.token_maps import (
    Tokens,
    chosen_weights,
    head_menus,
    peaks,
    token_map,
)
from attnbook.course.kit.explorers.views import View
from attnbook.data.batching import IdPair, id_batch

LAYERS, HEADS = 4, 4
CAPTIONS = (
    "A woman in a red hat is reading a book.",
    "Two children are being watched by their mother.",
    "People are waiting at the station.",
    "A dog that is wet runs through the snow.",
    "There is no dog in the picture.",
)
CONTROLS = {
    "caption": TextBox("English caption", CAPTIONS[0], CAPTIONS[1:]),
    **head_menus(LAYERS, HEADS),
}


class Translation(NamedTuple):
    """A translated caption with the weights of all heads."""

    text: str
    tokens: Tokens
    maps: dict[str, Tensor]  # by the names of the modules, (H, T, S)


def explore_caption_heads() -> object:
    """Let the reader type a caption and choose a head; see :func:`~.explorer.explore`.

    The model is the trained one that comes with the package.
    """
    return explore(caption_view, CONTROLS)


def caption_view(caption: str, kind: str, layer: str, head: str) -> View:
    """The translation of a caption, and the weights of the head that is chosen."""
    found = translated(caption)
    weights = chosen_weights(found.maps, kind, layer, head)  # (T, S)
    chart = token_map(weights, found.tokens, kind)
    alt = f"{kind}. {peaks(weights, found.tokens, kind)}."
    return View(f"Translation: {found.text}", (chart,), alt)


on_page = caption_view


@lru_cache(maxsize=16)
def translated(caption: str) -> Translation:
    """Translate a caption by beam search, and collect the weights of all heads.

    A menu does not compute them anew.
    """
    source = checked_caption(caption)
    translator = shipped_translator()
    subwords = translator.subwords
    [text] = translator([source])
    batch = id_batch([IdPair(subwords.encode(source), subwords.encode(text))])
    maps = attention_maps(translator.model, batch.src, batch.tgt_in)
    target = subwords.pieces(text)
    tokens = Tokens(
        (*subwords.pieces(source), "<eos>"), ("<bos>", *target), (*target, "<eos>")
    )
    return Translation(text, tokens, {name: w[0] for name, w in maps.items()})
