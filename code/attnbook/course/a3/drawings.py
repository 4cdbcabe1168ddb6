"""The drawing of appendix A3: long–short attention in an encoder layer."""

from __future__ import annotations

from attnbook.course.kit.drawings.diagram import Diagram

LONG_SHORT = (
    "From the bottom up: the input x, (n, D), is split into two halves of (n, D/2). "
    "The left half goes through multi-head attention, which looks at all positions; "
    "the right half through a gate, a convolution, which looks at the neighbours, and "
    "a projection. Both are concatenated to (n, D), the input is added, and the "
    "feed-forward network follows, which mixes the two halves."
)


def long_short() -> Diagram:
    """One encoder layer of Lite Transformer, without its norms."""
    d = Diagram(480, 590, alt=LONG_SHORT)
    middle, left, right = 260, 150, 370
    x = d.text("$x$, (n, D)", middle, 574)
    split = d.box("split", middle, 490, width=80)
    attention = d.box("multi-head\nattention", left, 330, width=140, height=62)
    gate = d.box("gate", right, 396, width=130)
    convolution = d.box("convolution", right, 330, width=130)
    out = d.box("projection", right, 264, width=130)
    concat = d.box("concatenate", middle, 190, width=130)
    plus = d.plus(middle, 128)
    mix = d.box("feed-forward", middle, 66, width=140)
    d.arrow((middle, 540), (40, 540), (40, 128), plus)
    d.arrow(x, split)
    d.arrow(split, (left, 490), attention)
    d.arrow(split, (right, 490), gate)
    d.text("(n, D/2)", left + 44, 448)
    d.text("(n, D/2)", right + 44, 448)
    d.arrow(gate, convolution)
    d.arrow(convolution, out)
    d.arrow(attention, (left, 190), concat)
    d.arrow(out, (right, 190), concat)
    d.arrow(concat, plus)
    d.arrow(plus, mix)
    d.arrow(mix, d.text("(n, D)", middle, 12))
    return d
