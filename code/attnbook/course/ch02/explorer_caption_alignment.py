"""Chapter 2: the alignment of a translator with attention, on a caption."""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.analysis.word_maps import word_weights
from attnbook.course.kit.explorers.charts import Map
from attnbook.course.kit.explorers.controls import Menu, TextBox
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.shipped import checked_caption, shipped_bahdanau
from attnbook.course.kit.explorers.views import View
from attnbook.data.batching import IdPair, id_batch

CAPTIONS = (
    "Two children are being watched by their mother.",
    "The cat is being chased by a small dog.",
    "An old man is being helped by a young woman.",
    "A woman in a red hat is reading a book.",
    "A boy who is wearing a blue jacket is riding a bike.",
    "Three men are standing next to a broken car.",
    "A penguin is waiting for the bus.",
    "A woman puts on her shoes.",
    "Four friends have been sitting at a table since noon.",
    "There is no dog in the picture.",
    "People are waiting at the station.",
    "A man is about to cut down a tree.",
)
"""Our own; none of them is a caption of Multi30k."""

GLOSSES = {
    "Zwei Kinder werden von ihrer Mutter beobachtet.": (
        "Two children are by their mother watched."
    ),
    "Die Katze wird von einem kleinen Hund getragen.": (
        "The cat is by a small dog carried."
    ),
    "Ein alter Mann wird von einer jungen Frau getragen.": (
        "An old man is by a young woman carried."
    ),
    "Eine Frau mit einem roten Hut liest ein Buch.": (
        "A woman with a red hat reads a book."
    ),
    "Ein Junge in einer blauen Jacke fährt Fahrrad.": (
        "A boy in a blue jacket rides bicycle."
    ),
    "Drei Männer stehen neben einem komischen Auto.": (
        "Three men stand beside a funny car."
    ),
    "Ein Puderz wartet auf den Bus.": (
        "A Puderz, which is no word, waits for the bus."
    ),
    "Eine Frau legt ihre Schuhe.": "A woman lays her shoes.",
    "Vier Freunde sitzen an einem Tisch an einem Tisch.": (
        "Four friends sit at a table at a table."
    ),
    "Ein Hund liegt im Bild.": "A dog lies in the picture.",
    "Leute warten an der Ecke.": "People wait at the corner.",
    "Ein Mann ist kurz davor, einen Baum zu fangen.": (
        "A man is just about a tree to catch."
    ),
}
"""What the translations of :data:`CAPTIONS` say, in German order."""

CONTROLS = {
    "caption": TextBox("English caption", CAPTIONS[0], CAPTIONS[1:]),
    "unit": Menu("rows and columns", ("words", "subwords"), "words"),
}


class Aligned(NamedTuple):
    """A translated caption with the weights of each step."""

    text: str
    weights: Tensor  # (T, S)
    target: list[str]  # T subwords, EOS included
    source: list[str]  # S subwords, EOS included


def alignment_view(caption: str, unit: str) -> View:
    """The translation of a caption, and its attention weights."""
    found = aligned(caption)
    weights, target, source = found[1:]
    if unit == "words":
        weights, target, source = word_weights(weights, target, source)
    best = zip(target, *(x.tolist() for x in weights.max(-1)), strict=True)
    peaks = "; ".join(f"{row}: {source[j]}, {w:.0%}" for row, w, j in best)
    labels = tuple(f"{side} {unit.removesuffix('s')}" for side in ("target", "source"))
    cells = tuple(tuple(round(w, 2) for w in row) for row in weights.tolist())
    chart = Map(tuple(target), tuple(source), cells, ("target", "source"), labels)
    gloss = GLOSSES.get(found.text)
    said = f"Translation: {found.text}" + (f" ({gloss})" if gloss else "")
    return View(said, (chart,), f"Largest weights: {peaks}.")


explore_caption_alignment = Explorer(alignment_view, CONTROLS)


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
