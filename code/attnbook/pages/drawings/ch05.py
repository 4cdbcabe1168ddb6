"""The drawing of chapter 5: several attentions side by side."""

from __future__ import annotations

from attnbook.pages.drawings.diagram import Box, Diagram

ROLES = ("query", "key", "value")


def multi_head() -> Diagram:
    """Multi-head self-attention from the vectors of the words to its output."""
    alt = (
        "From the bottom up: X, (B, T, D), goes through three matrices, W^Q, W^K and "
        "W^V, into queries, keys and values, each (B, T, D). A wide box splits each "
        "into H parts, (B, T, D/H). Head 1, head 2 and so on to head H get a part of "
        "all three and attend, each for itself. A wide box lays the H results side by "
        "side, (B, T, D); W^O makes of them the output, (B, T, D)."
    )
    d = Diagram(510, 512, alt=alt)
    x = d.box("$X$", 255, 486, width=60)
    d.text("(B, T, D)", 330, 486)
    split = d.box("split into H parts", 255, 316, width=450, height=34)
    concat = d.box("concatenate", 255, 140, width=450, height=34)
    out = d.box("$W^O$", 255, 72, width=60)
    for role, letter, column in zip(ROLES, "QKV", (105, 255, 405), strict=True):
        w = d.box(f"$W^{letter}$", column, 398, width=60, role=role)
        d.arrow(x, w, role=role)
        d.arrow(w, (column, split.y + split.height / 2), role=role)
        d.text("(B, T, D)", column + 46, 357, role=role)
    for label, column in (("head 1", 90), ("head 2", 220), ("head H", 420)):
        _head(d, label, column, split, concat)
    d.dots(320, 228)
    d.text("(B, T, D/H) each", 320, 278)
    d.arrow((255, 123), out)
    d.text("(B, T, D)", 302, 107)
    d.arrow(out, d.text("output (B, T, D)", 255, 18))
    return d


def _head(d: Diagram, label: str, x: float, split: Box, concat: Box) -> None:
    """One attention, with a part of queries, keys and values from below."""
    box = d.box(label, x, 228, width=92, height=40)
    for role, shift in zip(ROLES, (-24, 0, 24), strict=True):
        start = (x + shift, split.y - split.height / 2)
        d.arrow(start, (x + shift, box.y + box.height / 2), role=role)
    d.arrow(box, (x, concat.y + concat.height / 2))
