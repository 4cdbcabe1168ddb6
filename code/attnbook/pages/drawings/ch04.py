"""The drawings of chapter 4: the way of the data, and where q, k and v come from."""

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


def data_flow() -> Diagram:
    """Scaled dot-product attention, operation by operation, with all shapes."""
    alt = (
        "From the bottom up: queries Q, (T, d_k), and keys K, (S, d_k), go into a "
        "matrix product; scores, (T, S), through scale, an optional mask and softmax; "
        "weights, (T, S), and the values V, (S, d_v), into a second matrix product, "
        "from which the output comes, (T, d_v)."
    )
    d = Diagram(400, 512, alt=alt)
    left, middle, right = 70, 140, 320
    q = d.box("$Q$", left, 486, width=50, **QUERY)
    k = d.box("$K$", 210, 486, width=50, **KEY)
    v = d.box("$V$", right, 486, width=50, **VALUE)
    first = d.box("MatMul", middle, 396, width=190)
    scale = d.box("Scale, $1/√d_k$", middle, 318, width=190)
    mask = d.box("Mask (optional)", middle, 240, width=190)
    softmax = d.box("SoftMax", middle, 162, width=190)
    second = d.box("MatMul", right, 84, width=110)
    d.arrow(q, (left, first.y + 19), label="(T, $d_k$)", **QUERY)
    d.arrow(k, (210, first.y + 19), label="(S, $d_k$)", **KEY)
    d.arrow(v, second, label="(S, $d_v$)", **VALUE)
    for below, above in ((first, scale), (scale, mask), (mask, softmax)):
        d.arrow(below, above, label="(T, S)")
    d.arrow(softmax, (middle, 84), second, label="(T, S)")
    d.arrow(second, d.text("output", right, 16, **VALUE), label="(T, $d_v$)", **VALUE)
    return d


def three_attentions() -> Diagram:
    """Where q, k and v come from in the Transformer's three attentions."""
    alt = (
        "Three rows. Encoder self-attention: q, k and v all come from the source, from "
        "the layer below. Decoder self-attention: all three from the target, from the "
        "layer below; no later place may be seen. Cross-attention: q from the target, "
        "from the layer below; k and v from the source, the encoder's output."
    )
    d = Diagram(480, 500, alt=alt)
    encoder = d.box("", 100, 94, width=176, height=100, **SOURCE)
    _write(d, encoder, "source,", "layer below", **SOURCE)
    _attention(d, 94, "Encoder self-attention", (encoder,) * 3, "sees all")
    decoder = d.box("", 100, 258, width=176, height=100, **TARGET)
    _write(d, decoder, "target,", "layer below", **TARGET)
    _attention(d, 258, "Decoder self-attention", (decoder,) * 3, "no later place")
    asks = d.box("", 100, 401, width=176, height=46, **TARGET)
    _write(d, asks, "target,", "layer below", **TARGET)
    memory = d.box("", 100, 461, width=176, height=62, **SOURCE)
    _write(d, memory, "source,", "encoder's output", **SOURCE)
    _attention(d, 435, "Cross-attention", (asks, memory, memory), "sees all")
    return d


def _write(
    d: Diagram, box: Box, first: str, second: str, role: str | None = None
) -> None:
    """Two lines of text in a box."""
    d.text(first, box.x, box.y - 10, role=role)
    d.text(second, box.x, box.y + 11, role=role)


def _attention(
    d: Diagram, y: float, title: str, origins: tuple[Box, Box, Box], sees: str
) -> None:
    """One attention at height y: where its q, k and v come from, what may be seen."""
    d.text(title, 100, y - 72)
    box = d.box("", 390, y, width=150, height=114)
    _write(d, box, "attention", sees)
    rows = (("$q$", QUERY, -32), ("$k$", KEY, 8), ("$v$", VALUE, 40))
    for (letter, look, down), origin in zip(rows, origins, strict=True):
        left, right = origin.x + origin.width / 2, box.x - box.width / 2
        d.arrow((left, y + down), (right, y + down), label=letter, **look)
