"""The drawing of chapter 9: the model."""

from math import copysign

from attnbook.course.kit.drawings.diagram import (
    KEY,
    QUERY,
    SOURCE,
    TARGET,
    VALUE,
    Box,
    Diagram,
)
from attnbook.course.kit.drawings.linked import LinkedDiagram

CHAPTERS = {
    "attention": ("ch05_multi_head.html", "chapter 5, multi-head attention"),
    "mask": ("ch06_masks.html", "chapter 6, masks"),
    "memory": (
        "ch04_scaled_dot_product.html#fig-projections",
        "memory: chapter 4, where queries, keys and values come from",
    ),
    "positions": ("ch07_positions.html", "chapter 7, positions"),
    "layers": ("ch08_layers.html", "chapter 8, layers"),
    "model": (
        "ch09_transformer.html#embeddings-and-tied-weights",
        "chapter 9, embeddings and tied weights",
    ),
}


ARCHITECTURE = (
    "Two columns, from the bottom up. Left, the encoder: source ids, (B, S), "
    "through an embedding times the root of D and added positions, (B, S, D), into "
    "N layers of self-attention, with a mask (B, 1, 1, S), and feed-forward, and "
    "through a last norm; what comes out, (B, S, D), is the memory. Right, the "
    "decoder: target ids, (B, T), through embedding and positions, (B, T, D), into N "
    "layers of self-attention, with a mask (B, 1, T, T), cross-attention, with a mask "
    "(B, 1, 1, S), and feed-forward, and through a last norm; then a linear output "
    "gives logits, (B, T, V). An arrow leads from the memory into the decoder's "
    "layers, where it forks into the keys and the values of the cross-attention. "
    "Before each sub-layer is a norm, and around both leads a residual connection to "
    "a sum. A dashed line ties the output to the target embedding."
)


def architecture() -> LinkedDiagram:
    """The whole Transformer in pre-norm, with shapes; its boxes lead to chapters."""
    d = LinkedDiagram(510, 845, alt=ARCHITECTURE)
    memory = _encoder(d, 118)
    cross = _decoder(d, 384)
    edge, fork = cross.x - cross.width / 2, cross.x - 94
    rail = fork - 30
    for look, letter, side in ((KEY, "$K$", -1), (VALUE, "$V$", 1)):
        end = cross.y + 13 * side
        d.arrow((fork, cross.y), (fork, end), (edge, end), **look)
        d.text(letter, fork + 8, cross.y + 26 * side, **look)
    d.line((memory.x + 45, memory.y), (rail, memory.y), (rail, cross.y), **SOURCE)
    d.line((rail, cross.y), (fork + 0.9, cross.y), **SOURCE)
    d.text("$Q$", cross.x - 14, cross.y + 38, **QUERY)
    return d


def _encoder(d: LinkedDiagram, x: float) -> Box:
    """The encoder around a vertical line; returns the box of what it gives."""
    below = _words(d, x, "source ids", "S", SOURCE)
    d.frame(x - 96, 339, x + 96, 671)
    d.text("N ×", x + 70, 655)
    norm = _norm(d, below, 631)
    attention = _attention(d, x, 560, "self-attention", "mask (B, 1, 1, S)")
    _queries_keys_values(d, norm, attention)
    norm = _norm(d, _add(d, attention, 657, -84), 458)
    feed = _box(d, "feed-forward", x, 407, "layers")
    d.arrow(norm, feed)
    norm = _norm(d, _add(d, feed, 484, -84), 310)
    memory = d.box("memory", x, 236, width=90, **SOURCE)
    d.link(memory, *CHAPTERS["memory"])
    d.arrow(norm, memory, label="(B, S, D)", **SOURCE)
    return memory


def _decoder(d: LinkedDiagram, x: float) -> Box:
    """The decoder around a vertical line; returns the box of its cross-attention."""
    below = _words(d, x, "target ids", "T", TARGET)
    d.frame(x - 108, 168, x + 96, 671)
    d.text("N ×", x - 70, 655)
    norm = _norm(d, below, 631)
    attention = _attention(d, x, 560, "self-attention", "mask (B, 1, T, T)")
    _queries_keys_values(d, norm, attention)
    norm = _norm(d, _add(d, attention, 657, 84), 458)
    cross = _attention(d, x, 389, "cross-attention", "mask (B, 1, 1, S)")
    d.arrow(norm, cross, **QUERY)
    norm = _norm(d, _add(d, cross, 484, 84), 287)
    feed = _box(d, "feed-forward", x, 236, "layers")
    d.arrow(norm, feed)
    norm = _norm(d, _add(d, feed, 313, 84), 139)
    out = _box(d, "linear output", x, 78, "model", **TARGET)
    d.arrow(norm, out, label="(B, T, D)", **TARGET)
    d.arrow(out, d.text("logits", x, 12, **TARGET), label="(B, T, V)", **TARGET)
    edge = x + 75
    d.arrow((edge, 753), (edge + 42, 753), (edge + 42, 78), (edge, 78), dashed=True)
    d.text("tied", edge + 30, 56)
    return cross


def _words(d: LinkedDiagram, x: float, ids: str, length: str, look: dict) -> Box:
    """From ids to vectors that know their position."""
    embedding = _box(d, "embedding $· √D$", x, 753, "model", **look)
    positions = _box(d, "+ positions", x, 693, "positions", **look)
    d.arrow(d.text(ids, x, 829, **look), embedding, label=f"(B, {length})", **look)
    d.arrow(embedding, positions, **look)
    return positions


def _box(d: LinkedDiagram, label: str, x: float, y: float, chapter: str, **look) -> Box:
    """A box that leads to its chapter."""
    box = d.box(label, x, y, width=150, height=36, **look)
    address, name = CHAPTERS[chapter]
    d.link(box, address, f"{label.replace('$', '')}: {name}")
    return box


def _attention(d: LinkedDiagram, x: float, y: float, name: str, mask: str) -> Box:
    """A box of two lines, the attention and its mask, each with its chapter."""
    box = d.box(f"{name}\n{mask}", x, y, width=140, height=52)
    for line, what, shift in ((name, "attention", -13), (mask, "mask", 13)):
        address, chapter = CHAPTERS[what]
        d.link(Box(x, y + shift, 140, 26), address, f"{line}: {chapter}")
    return box


def _queries_keys_values(d: Diagram, below: Box, box: Box) -> None:
    """From the vectors below three arrows into self-attention."""
    bottom, stem = box.y + box.height / 2, box.y + box.height / 2 + 24
    for look, shift in ((QUERY, -24), (KEY, 0), (VALUE, 24)):
        d.arrow((box.x + shift, stem), (box.x + shift, bottom), **look)
    d.line((below.x, below.y - below.height / 2), (below.x, stem))
    d.line((below.x - 24.9, stem), (below.x + 24.9, stem))


def _norm(d: LinkedDiagram, below: Box, y: float) -> Box:
    """A norm above a sum, or above the word vectors."""
    norm = d.box("norm", below.x, y, width=70, height=26)
    address, name = CHAPTERS["layers"]
    d.link(norm, address, f"norm: {name}")
    d.arrow(below, norm)
    return norm


def _add(d: LinkedDiagram, box: Box, fork: float, side: float) -> Box:
    """The sum above a sub-layer, and the residual connection that leads to it."""
    plus = d.plus(box.x, box.y - box.height / 2 - 26)
    d.arrow(box, plus)
    x, edge = box.x + side, box.x + copysign(0.9, side)  # of the line upwards
    d.arrow((edge, fork), (x, fork), (x, plus.y), plus)
    return plus
