"""Chapter 3: the dictionary of each head, by the word that is written or read."""

from functools import lru_cache

from torch import Tensor

from attnbook.analysis.maps import attention_maps
from attnbook.course.kit.explorers.charts import Map
from attnbook.course.kit.explorers.controls import Menu, Switch
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.shipped import shipped_translator
from attnbook.course.kit.explorers.token_maps import chosen_weights
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import table
from attnbook.data.batching import IdPair, id_batch

ENGLISH = "An old woman is selling vegetables at a market."
GERMAN = "Eine alte Frau verkauft auf einem Markt Gemüse."
MEANINGS = {
    "Eine": "An",
    "alte": "old",
    "Frau": "woman",
    "verkauft": "selling",
    "auf": "at",
    "einem": "a",
    "Markt": "market",
    "Gemüse": "vegetables",
}
"""The right entries, written by hand; none for the full stop."""

NUMBERS = ("1", "2", "3", "4")
CONTROLS = {
    "layer": Menu("layer", NUMBERS, "1"),
    "head": Menu("head", NUMBERS, "1"),
    "by_read": Switch("take each step for the word that it reads", True),
}


def dictionary_view(layer: str, head: str, by_read: bool) -> View:
    """The weights of a head, and the dictionary that they make.

    Step t + 1 reads what step t has written, so a word's row is the one in which it is
    read, or the row before.

    Args:
        layer: Its number, from 1.
        head: The same.
        by_read: Whether a word's row is the step that reads it.
    """
    source, target = tokens()
    weights = chosen_weights(maps(), "cross-attention", layer, head)  # (T, S)
    rows = {word: t + by_read for t, word in enumerate(MEANINGS)}
    found = {word: source[weights[t, :-1].argmax()] for word, t in rows.items()}
    right = sum(found[word] == meaning for word, meaning in MEANINGS.items())
    steps = zip(("<bos>", *target), (*target, "<eos>"), strict=True)
    chart = Map(
        tuple(f"{read} → {written}" for read, written in steps),
        source,
        tuple(tuple(round(w, 2) for w in row) for row in weights.tolist()),
        ("target", "source"),
        ("word read → word written", "English word"),
        tuple((rows[word], source.index(MEANINGS[word])) for word in MEANINGS),
    )
    way = "read" if by_read else "written"
    said = f"By the word {way}: {right} of {len(found)} entries right."
    entries = [
        (word, english, "right" if english == MEANINGS[word] else "wrong")
        for word, english in found.items()
    ]
    listed = "; ".join(f"{word} = {english}" for word, english in found.items())
    return View(
        said,
        (chart,),
        f"Weights of layer {layer}, head {head}. Largest by the word {way}: {listed}. "
        "Frames: the words that mean the same.",
        table(["German", "English", "entry"], entries),
    )


explore_dictionary = Explorer(dictionary_view, CONTROLS)


def tokens() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The English words with EOS, and the German ones without: a subword each."""
    pieces = shipped_translator().subwords.pieces
    source, target = ([p.strip("▁") for p in pieces(t)] for t in (ENGLISH, GERMAN))
    return (*source, "<eos>"), tuple(target)


@lru_cache(maxsize=1)
def maps() -> dict[str, Tensor]:
    """The weights of all heads for the sentence and its translation, (H, T, S) each."""
    translator = shipped_translator()
    encode = translator.subwords.encode
    batch = id_batch([IdPair(encode(ENGLISH), encode(GERMAN))])
    found = attention_maps(translator.model, batch.src, batch.tgt_in)
    return {name: weights[0] for name, weights in found.items()}
