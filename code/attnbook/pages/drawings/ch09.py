"""The drawings of chapter 9: the whole model, and where Q, K and V come from."""

from __future__ import annotations

from attnbook.pages.drawings.diagram import (
    KEY,
    QUERY,
    SOURCE,
    TARGET,
    VALUE,
    Box,
    Diagram,
)
from attnbook.pages.drawings.linked import LinkedDiagram

CHAPTERS = {
    "attention": ("ch05_multi_head.html", "chapter 5, multi-head attention"),
    "mask": ("ch06_masks.html", "chapter 6, masks"),
    "memory": (
        "ch04_scaled_dot_product.html#fig-projections",
        "memory: chapter 4, where queries, keys and values come from",
    ),
    "positions": ("ch07_positions.html", "chapter 7, positions"),
    "layers": ("ch08_layers.html", "chapter 8, layers"),
}
HALVES = ("encoder", "decoder")


ARCHITECTURE = (
    "Two columns, from the bottom up. Left, the encoder: source ids, (B, S), "
    "through an embedding times the root of D and added positions, (B, S, D), into "
    "N layers of self-attention, with a mask (B, 1, 1, S), and feed-forward; what "
    "comes out, (B, S, D), is the memory. Right, the decoder: target ids, (B, T), "
    "through embedding and positions, (B, T, D), into N layers of self-attention, "
    "with a mask (B, 1, T, T), cross-attention, whose keys and values come from "
    "the memory, with a mask (B, 1, 1, S), and feed-forward; then a linear output "
    "gives logits, (B, T, V). Around each sub-layer goes a way to a sum and a "
    "norm. A dashed line ties the output to the target embedding."
)


def architecture(highlight: str | None = None) -> LinkedDiagram:
    """The whole Transformer of the paper, with shapes; its boxes lead to chapters.

    Args:
        highlight: "encoder" or "decoder": the other one is pale. None: both are full.

    Returns:
        The diagram.

    Raises:
        ValueError: If there is no such part.
    """
    if highlight not in (None, *HALVES):
        raise ValueError(
            f"highlight is {highlight!r}: choose one of {HALVES}, or None."
        )
    d = LinkedDiagram(510, 724, alt=ARCHITECTURE)
    memory = _encoder(d, 130)
    cross = _decoder(d, 372)
    left = cross.x - cross.width / 2
    for look, start, rail, end in ((KEY, 223, 240, 338), (VALUE, 207, 260, 318)):
        d.arrow((memory.x + 45, start), (rail, start), (rail, end), (left, end), **look)
    d.text("$V$", 214, 194, **VALUE)
    d.text("$K$", 214, 238, **KEY)
    d.text("$Q$", cross.x - 16, 367, **QUERY)
    if highlight == "encoder":
        d.veil(229, 0, 510, 724)
    elif highlight == "decoder":
        d.veil(0, 240, 229, 724)
    return d


def _encoder(d: LinkedDiagram, x: float) -> Box:
    """The encoder around a vertical line; returns the box of what it gives."""
    below = _words(d, x, "source ids", "S", SOURCE)
    d.frame(x - 94, 276, x + 94, 526)
    d.text("N ×", x + 68, 510)
    attention = _attention(d, x, 455, "self-attention", "mask (B, 1, 1, S)")
    _queries_keys_values(d, below, attention)
    plus = _around(d, attention, 516, 402, -82)
    feed = _box(d, "feed-forward", x, 340, "layers")
    d.arrow(plus, feed)
    plus = _around(d, feed, 376, 298, -82)
    memory = d.box("memory", x, 215, width=90, **SOURCE)
    d.link(memory, *CHAPTERS["memory"])
    d.arrow(plus, memory, label="(B, S, D)", **SOURCE)
    return memory


def _decoder(d: LinkedDiagram, x: float) -> Box:
    """The decoder around a vertical line; returns the box of its cross-attention."""
    below = _words(d, x, "target ids", "T", TARGET)
    d.frame(x - 94, 150, x + 94, 526)
    d.text("N ×", x - 68, 510)
    attention = _attention(d, x, 455, "self-attention", "mask (B, 1, T, T)")
    _queries_keys_values(d, below, attention)
    plus = _around(d, attention, 516, 402, 82)
    cross = _attention(d, x, 328, "cross-attention", "mask (B, 1, 1, S)")
    sum_, plus = plus, _around(d, cross, 380, 276, 82)
    d.arrow((x, 380), cross, **QUERY)
    d.line((x, sum_.y - 11), (x, 380))
    d.line((x - 0.9, 380), (x + 8, 380))
    feed = _box(d, "feed-forward", x, 214, "layers")
    d.arrow(plus, feed)
    plus = _around(d, feed, 250, 172, 82)
    out = _box(d, "linear output", x, 88, "layers", **TARGET)
    d.arrow(plus, out, label="(B, T, D)", **TARGET)
    d.arrow(out, d.text("logits", x, 18, **TARGET), label="(B, T, V)", **TARGET)
    edge = x + 75
    d.arrow((edge, 632), (edge + 42, 632), (edge + 42, 88), (edge, 88), dashed=True)
    d.text("tied", edge + 36, 64)
    return cross


def _words(d: LinkedDiagram, x: float, ids: str, length: str, look: dict) -> Box:
    """From ids to vectors that know their position."""
    embedding = _box(d, "embedding $· √D$", x, 632, "layers", **look)
    positions = _box(d, "+ positions", x, 564, "positions", **look)
    d.arrow(d.text(ids, x, 706, **look), embedding, label=f"(B, {length})", **look)
    d.arrow(embedding, positions, label=f"(B, {length}, D)", **look)
    return positions


def _box(d: LinkedDiagram, label: str, x: float, y: float, chapter: str, **look) -> Box:
    """A box that leads to its chapter."""
    box = d.box(label, x, y, width=150, height=36, **look)
    address, name = CHAPTERS[chapter]
    d.link(box, address, f"{label.replace('$', '')}: {name}")
    return box


def _attention(d: LinkedDiagram, x: float, y: float, name: str, mask: str) -> Box:
    """A box of two lines, the attention and its mask, each with its chapter."""
    box = d.box(f"{name}\n{mask}", x, y, width=150, height=52)
    for line, what, shift in ((name, "attention", -13), (mask, "mask", 13)):
        address, chapter = CHAPTERS[what]
        d.link(Box(x, y + shift, 150, 26), address, f"{line}: {chapter}")
    return box


def _queries_keys_values(d: Diagram, below: Box, box: Box) -> None:
    """From the vectors below three arrows into self-attention."""
    bottom, stem = box.y + box.height / 2, box.y + box.height / 2 + 24
    for look, shift in ((QUERY, -24), (KEY, 0), (VALUE, 24)):
        d.arrow((box.x + shift, stem), (box.x + shift, bottom), **look)
    d.line((below.x, below.y - below.height / 2), (below.x, stem))
    d.line((below.x - 24.9, stem), (below.x + 24.9, stem))


def _around(d: Diagram, box: Box, fork: float, end: float, side: float) -> Box:
    """The way around a sub-layer, to a sum and a norm; returns where it ends."""
    plus = d.plus(box.x, end)
    d.text("norm", box.x - 0.5 * side, end)
    d.arrow(box, plus)
    x = box.x + side
    d.arrow((box.x, fork), (x, fork), (x, end), plus)
    return plus


def where_qkv_come_from() -> Diagram:
    """The three attentions: from where queries, keys and values come."""
    alt = (
        "Two columns, from the bottom up. Left, the encoder's self-attention: queries, "
        "keys and values from the source vectors; after N layers, the memory. Right, "
        "two decoder layers, each a self-attention with queries, keys and values from "
        "the layer below, and a cross-attention with queries from the self-attention "
        "below it. Keys and values of both cross-attentions come from the one memory."
    )
    d = Diagram(510, 516, alt=alt)
    left, right = 110, 400
    memory = d.box("memory", left, 215, width=90, **SOURCE)
    encoder = d.box("self-attention\nN layers", left, 410, width=140, height=52)
    words = d.text("source vectors", left, 498, **SOURCE)
    _queries_keys_values(d, words, encoder)
    d.arrow(encoder, memory, label="(B, S, D)", **SOURCE)
    below = d.text("target vectors", right, 498, **TARGET)
    for layer, y in ((1, 410), (2, 214)):
        own = d.box(f"self-attention\nlayer {layer}", right, y, width=140, height=52)
        _queries_keys_values(d, below, own)
        below = d.box(
            f"cross-attention\nlayer {layer}", right, y - 96, width=140, height=52
        )
        d.arrow(own, below, label="$Q$", **QUERY)
    d.arrow(below, d.text("further layers", right, 36, **TARGET), **TARGET)
    _to_cross_attention(d, memory, 110, -1)
    _to_cross_attention(d, memory, 320, 1)
    return d


def _to_cross_attention(d: Diagram, memory: Box, end: float, side: int) -> None:
    """Keys and values from the memory up (-1) or down (1) to a cross-attention."""
    edge = memory.x + memory.width / 2
    for look, letter, rail, shift in ((VALUE, "$V$", 200, 14), (KEY, "$K$", 222, 5)):
        start, tip = (
            memory.y + side * shift,
            end + side * (10 if look is VALUE else -10),
        )
        d.arrow((edge, start), (rail, start), (rail, tip), (330, tip), **look)
        d.text(letter, 280, tip + side * (16 if look is VALUE else -16), **look)
