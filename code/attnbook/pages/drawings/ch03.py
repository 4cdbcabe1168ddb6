"""The drawings of chapter 3: in which order Luong's decoder works, and with what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from attnbook.pages.drawings.diagram import SOURCE, TARGET, Box, Diagram

COLUMNS = (40, 122, 204, 286, 368, 470)


def step_orders() -> Diagram:
    """One step of Bahdanau's decoder, and below it one of Luong's."""
    alt = (
        "Two rows of boxes. Bahdanau: the old state s_{i-1} leads to the weights "
        "alpha_i, these to the context c_i, and this, with s_{i-1} and the word "
        "y_{i-1}, to the new state s_i, which predicts y_i. Luong: the old state "
        "h_{t-1} and the word y_{t-1} lead to the new state h_t, this to the weights "
        "a_t, these to the context c_t, and this, with h_t, to h-tilde_t, which "
        "predicts y_t. The next state h_{t+1} follows from h_t; a dashed arrow, input "
        "feeding, leads to it from h-tilde_t."
    )
    d = Diagram(510, 362, alt=alt)
    _bahdanau(d, 96)
    _luong(d, 276)
    return d


def _bahdanau(d: Diagram, y: float) -> None:
    d.text("Bahdanau: look, then move", 112, y - 76)
    labels = ("$s_{i-1}$", "$α_i$", "$c_i$", "$s_i$")
    looks = (TARGET, {}, SOURCE, TARGET)
    old, _, _, new = row = _row(d, labels, looks, y)
    _chain(d, row, looks)
    d.arrow(new, d.dots(COLUMNS[4], y), **TARGET)
    _rail(d, old, new, y + 42)
    d.arrow(d.text("$y_{i-1}$", new.x, y + 68, **TARGET), new, **TARGET)
    d.arrow(new, d.text("$y_i$", new.x, y - 60, **TARGET), **TARGET)


def _luong(d: Diagram, y: float) -> None:
    d.text("Luong: move, then look", 97, y - 76)
    labels = ("$h_{t-1}$", "$h_t$", "$a_t$", "$c_t$", "$h̃_t$", "$h_{t+1}$")
    looks = (TARGET, TARGET, {}, SOURCE, TARGET, TARGET)
    _, state, _, _, combined, next_ = row = _row(d, labels, looks, y)
    _chain(d, row[:-1], looks)
    _rail(d, state, combined, y - 42)
    _rail(d, state, next_, y + 42)
    d.arrow(d.text("$y_{t-1}$", state.x, y + 68, **TARGET), state, **TARGET)
    d.arrow(combined, d.text("$y_t$", combined.x, y - 60, **TARGET), **TARGET)
    d.arrow(combined, next_, dashed=True, **TARGET)
    d.text("input feeding", 451, y - 36, **TARGET)


def _row(
    d: Diagram, labels: Sequence[str], looks: Sequence[dict], y: float
) -> list[Box]:
    return [
        d.box(label, x, y, width=46, **look)
        for label, x, look in zip(labels, COLUMNS, looks, strict=False)
    ]


def _chain(d: Diagram, boxes: Sequence[Box], looks: Sequence[dict]) -> None:
    for (one, other), look in zip(pairwise(boxes), looks, strict=False):
        d.arrow(one, other, **look)


def _rail(d: Diagram, start: Box, end: Box, y: float) -> None:
    """An arrow round the boxes between two, above or below them."""
    side = math.copysign(start.height / 2, y - start.y)
    left, right = start.x + 10, end.x - 10  # beside the arrows of words
    d.arrow(
        (left, start.y + side), (left, y), (right, y), (right, end.y + side), **TARGET
    )


ATTENTIONAL_STATE = (
    "From the bottom up: the decoder's state h_t, (B, H), and the encoder's "
    "states, (B, S, H), go into the score; scores, (B, S), into align; weights "
    "a_t, (B, S), and the encoder's states into a weighted sum, the context c_t, "
    "(B, H). c_t and h_t side by side, (B, 2H), go through W_c and tanh and become "
    "h-tilde_t, (B, H); W_s turns it into logits, (B, V)."
)


def attentional_state() -> Diagram:
    """One look at the source, from the state h_t to the logits, with all shapes."""
    d = Diagram(510, 456, alt=ATTENTIONAL_STATE)
    left, middle, right = 96, 236, 400
    state = d.box("$h_t$", left, 430, width=46, **TARGET)
    states = d.box("$h̄_1, …, h̄_S$", right, 430, width=116, **SOURCE)
    score = d.box("score", middle, 350, width=76)
    align = d.box("align", middle, 275, width=76)
    context = d.box("weighted sum", right, 225, width=130, **SOURCE)
    joined = d.box("$[c_t; h_t]$", left, 165, width=96)
    combine = d.box("$W_c$", left, 95, width=46)
    tanh = d.box("tanh", left, 26, width=60)
    out = d.box("$W_s$", 290, 26, width=46)
    d.arrow(state, joined, label="(B, H)", **TARGET)
    d.arrow(state, (middle, 430), score, label="(B, H)", **TARGET)
    d.arrow(states, (right - 36, 350), score, label="(B, S, H)", **SOURCE)
    d.arrow(states, context, label="(B, S, H)", **SOURCE)
    d.arrow(score, align, label="(B, S)")
    d.arrow(align, (middle, 225), context, label="(B, S)")
    d.text("$a_t$", 290, 240)
    d.arrow(context, (right, 165), joined, label="(B, H)", **SOURCE)
    d.text("$c_t$", 270, 180, **SOURCE)
    d.arrow(joined, combine, label="(B, 2H)")
    d.arrow(combine, tanh, label="(B, H)")
    d.arrow(tanh, out, label="(B, H)", **TARGET)
    d.text("$h̃_t$", 195, 41, **TARGET)
    d.arrow(out, d.text("logits", 465, 26), label="(B, V)", **TARGET)
    return d
