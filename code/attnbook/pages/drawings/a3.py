"""The drawing of appendix A3: long–short attention in an encoder layer."""

from __future__ import annotations

from attnbook.pages.drawings.diagram import Diagram

LONG_SHORT = (
    "From the bottom up: the input x, (n, D), is split into two halves of (n, D/2). "
    "The left half goes through multi-head attention, which looks at all positions; "
    "the right half through a gate, a convolution, which looks at the neighbours, and "
    "a projection. Both are concatenated to (n, D), the input is added, and the "
    "feed-forward network follows, which mixes the two halves."
)


def long_short() -> Diagram:
    """One encoder layer of Lite Transformer, without its norms."""
    d = Diagram(480, 520, alt=LONG_SHORT)
    middle, left, right = 260, 160, 360
    x = d.text("$x$ (n, D)", middle, 504)
    split = d.box("split", middle, 440, width=80)
    attention = d.box("multi-head\nattention", left, 290, width=140, height=62)
    gate = d.box("gate", right, 352, width=140)
    convolution = d.box("convolution", right, 290, width=140)
    out = d.box("projection", right, 228, width=140)
    concat = d.box("concatenate", middle, 156, width=130)
    plus = d.plus(middle, 98)
    mix = d.box("feed-forward", middle, 46, width=140)
    d.arrow(x, split)
    d.arrow((middle - 40, 440), (left, 440), attention)
    d.arrow((middle + 40, 440), (right, 440), gate)
    d.text("(n, D/2)", left - 52, 392)
    d.text("(n, D/2)", right + 50, 392)
    d.arrow(gate, convolution)
    d.arrow(convolution, out)
    d.arrow(attention, (left, 156), concat)
    d.arrow(out, (right, 156), concat)
    d.arrow(concat, plus)
    d.arrow((middle, 474), (44, 474), (44, 98), plus)
    d.arrow(plus, mix)
    d.arrow(mix, d.text("(n, D)", middle, 8))
    d.text("far", left, 338)
    d.text("near", right + 96, 290)
    return d
