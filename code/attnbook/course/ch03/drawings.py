"""The drawings of chapter 3: the order of Luong's step, and the attentional state."""

from collections.abc import Sequence
from itertools import pairwise

from attnbook.course.kit.drawings.diagram import SOURCE, TARGET, Box, Diagram

TWO_ORDERS = (
    "Two columns, read from below. Bahdanau, attend, then update: the old state "
    "s_{t-1} and the encoder states h_j give the weights alpha_t, these and h_j the "
    "context c_t; c_t, s_{t-1} and the token y_{t-1} give the new state s_t, which "
    "predicts y_t. Luong, update, then attend: s_{t-1} and y_{t-1} give the new state "
    "s_t; s_t and h_j give alpha_t, these and h_j give c_t; c_t and s_t give "
    "h-tilde_t, which predicts y_t."
)


def two_orders() -> Diagram:
    """One step of Bahdanau's decoder and one of Luong's, side by side."""
    d = Diagram(510, 430, alt=TWO_ORDERS)
    bahdanau = ("$s_{t-1}$", "$α_t$", "$c_t$", "$s_t$", "$y_t$")
    luong = ("$s_{t-1}$", "$s_t$", "$α_t$", "$c_t$", "$h̃_t$", "$y_t$")
    _order(d, 136, "Bahdanau", "attend, then update", bahdanau, (0, 3))
    _order(d, 396, "Luong", "update, then attend", luong, (1, 4))
    return d


def _order(
    d: Diagram,
    x: float,
    name: str,
    order: str,
    labels: Sequence[str],
    around: tuple[int, int],
) -> None:
    """One column from below: what follows what, and the way round the attention."""
    looks = {"$α_t$": {}, "$c_t$": SOURCE}
    *boxes, output = [
        (d.box if label != labels[-1] else d.text)(
            label, x, 402 - 62 * level, **looks.get(label, TARGET)
        )
        for level, label in enumerate(labels)
    ]
    d.text(name, x, 20)
    d.text(order, x, 42)
    weights, context = (boxes[labels.index(label)] for label in looks)
    new = boxes[labels.index("$s_t$")]
    d.frame(x - 38, context.y - 32, x + 38, weights.y + 32)
    d.text("attention", x - 76, weights.y + 24)
    states = d.box("$h_j$", x - 92, (weights.y + context.y) / 2, **SOURCE)
    for end in (weights, context):
        d.arrow(states, (states.x, end.y), end, **SOURCE)
    for label, (one, next_) in zip(labels, pairwise([*boxes, output]), strict=False):
        d.arrow(one, next_, **looks.get(label, TARGET))
    start, end = (boxes[level] for level in around)
    d.arrow(start, (x + 62, start.y), (x + 62, end.y), end, **TARGET)
    d.arrow(d.text("$y_{t-1}$", x - 92, new.y, **TARGET), new, **TARGET)


ATTENTIONAL_STATE = (
    "From the bottom up: the decoder's state s_t and the context c_t, (B, H) each, are "
    "concatenated, (B, 2H), and go through W_c and tanh: this is h-tilde_t, (B, H). "
    "W_o turns it into logits, (B, V), from which y_t is predicted. The next state "
    "s_{t+1} follows from s_t and y_t; a dashed arrow, input feeding, leads to it from "
    "h-tilde_t."
)


def attentional_state() -> Diagram:
    """From the state s_t and the context c_t to the output, and to the next state."""
    d = Diagram(510, 490, alt=ATTENTIONAL_STATE)
    middle, bottom = 190, 396
    state = d.box("$s_t$", middle - 74, bottom, **TARGET)
    context = d.box("$c_t$", middle + 74, bottom, **SOURCE)
    column = [
        d.box("$[c_t; s_t]$", middle, 312, width=190),
        d.box("tanh $W_c$", middle, 242, width=100),
        d.box("$h̃_t$", middle, 172, filled=True, **TARGET),
        d.box("$W_o$", middle, 102, width=46),
        d.text("$y_t$", middle, 30, **TARGET),
    ]
    shapes = ("(B, 2H)", "(B, H)", "(B, H)", "logits (B, V)")
    for (one, next_), shape in zip(pairwise(column), shapes, strict=True):
        d.arrow(one, next_, label=shape, **TARGET)
    for box, look in ((state, TARGET), (context, SOURCE)):
        d.arrow(box, (box.x, column[0].y + 19), label="(B, H)", **look)
    _next_state(d, state, column[2])
    d.arrow(d.text("attention", context.x, 470, **SOURCE), context, **SOURCE)
    return d


def _next_state(d: Diagram, state: Box, combined: Box) -> None:
    """The next step, which takes the state, the output and, dashed, h̃_t."""
    new = d.box("$s_{t+1}$", 430, state.y, width=50, **TARGET)
    low, bottom = state.y + 46, state.y + 19
    d.arrow(state, (state.x, low), (new.x - 12, low), (new.x - 12, bottom), **TARGET)
    output = d.text("$y_t$", new.x + 12, 470, **TARGET)
    d.arrow((output.x, output.y - 11), (output.x, bottom), **TARGET)
    d.arrow(combined, (new.x, combined.y), new, dashed=True, **TARGET)
    d.text("input feeding", 330, combined.y - 16, **TARGET)
