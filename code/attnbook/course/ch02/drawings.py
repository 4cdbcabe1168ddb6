"""The drawings of chapter 2: a soft memory, and one step of Bahdanau's decoder."""

from collections.abc import Sequence

from attnbook.course.kit.drawings.diagram import SOURCE, TARGET, Box, Diagram
from attnbook.course.kit.drawings.encoder_states import HALF, encoder_states

WIDEST = 12  # pixels: an arrow that carries all the weight

MEMORY = (0.05, 0.1, 0.7, 0.1, 0.05)  # weights of the states in soft_memory
TOKENS = ("the", "old", "farmer", "sees", "a", "bird", "<eos>")
BAHDANAU_STEP = (
    "From the bottom up: each of the source tokens the, old, farmer, sees, a, bird, "
    "<eos> has an encoder state of two directions. The decoder state s_{t-1} has an "
    "arrow to all seven scores e_{t1} to e_{t7}, each encoder state to its own. A "
    "softmax turns the scores into the weights alpha_{t1} to alpha_{t7}. The context "
    "c_t is the sum of the encoder states with these weights. c_t, s_{t-1} and the "
    "token y_{t-1} give the state s_t; s_t, c_t and y_{t-1} lead to the readout, which "
    "gives y_t."
)


def soft_memory() -> Diagram:
    """Two ways to read a memory: one entry, or an average with weights."""
    alt = (
        "A memory of five encoder states, h_1 to h_5. Left, hard attention takes h_3 "
        "alone, which has no gradient. Right, soft attention takes the weighted "
        f"average c_t, with weights {', '.join(map(str, MEMORY))} as bars; these "
        "have one."
    )
    d = Diagram(510, 336, alt=alt)
    rows = [68 + 44 * j for j in range(len(MEMORY))]
    d.frame(142, 42, 214, 270)
    memory = [
        d.box(f"$h_{j}$", 178, y, width=46, height=34, **SOURCE)
        for j, y in enumerate(rows, 1)
    ]
    one = d.box("$h_3$", 56, rows[2], width=46, filled=True, **SOURCE)
    d.arrow(memory[2], one, width=WIDEST / 2, **SOURCE)
    average = d.box("$c_t$", 474, rows[2], width=46, filled=True, **SOURCE)
    for state, weight in zip(memory, MEMORY, strict=True):
        d.arrow(state, (246, state.y), **SOURCE)
        d.bar(250, state.y, 110 * weight)
        d.text(f"{weight:.2f}", 372, state.y)
        d.arrow((394, state.y), average, width=max(WIDEST * weight, 1), **SOURCE)
    notes = {
        ("hard attention", "picks one state:", "no gradient"): 64,
        (
            "soft attention",
            "takes a weighted average:",
            "the weights have a gradient",
        ): 356,
    }
    for (title, *lines), x in notes.items():
        d.text(title, x, 22)
        for number, line in enumerate(lines):
            d.text(line, x, 298 + 21 * number)
    d.text("memory", 178, 22, **SOURCE)
    return d


def bahdanau_step() -> Diagram:
    """One step of Bahdanau's decoder, from the state s_{t-1} to the output y_t."""
    d = Diagram(510, 536, alt=BAHDANAU_STEP)
    places = [94 + 60 * j for j in range(len(TOKENS))]
    old = d.box("$s_{t-1}$", 34, 400, width=50, **TARGET)
    context = d.box(
        "$c_t = Σ_j α_{tj} h_j$", 274, 190, width=404, filled=True, **SOURCE
    )
    _scores(d, places, old, context)
    _new_state(d, old, context)
    return d


def _scores(d: Diagram, places: Sequence[float], old: Box, context: Box) -> None:
    """From encoder states to weights; each score compares one of them with s_{t-1}."""
    meet, left, right, bottom = 456, 66, 482, 375
    encoder_states(d, TOKENS, places, meet)
    d.frame(left, meet - HALF - 6, right, meet + HALF + 6)
    softmax = d.box("softmax", 274, 306, width=404, height=28)
    for j, x in enumerate(places, 1):
        score = d.box(f"$e_{{t{j}}}$", x, 358, width=44, height=34)
        weight = d.box(f"$α_{{t{j}}}$", x, 252, width=44, height=34)
        d.arrow(score, (x, softmax.y + 14))
        d.arrow((x, softmax.y), weight)
        d.arrow(weight, (x, context.y + 19))
    for x in places:
        d.arrow((x + 9, meet - HALF), (x + 9, bottom), **SOURCE)
    side = (500, context.y)
    d.arrow((right, meet), (side[0], meet), side, context, **SOURCE)
    d.text("$h_j$", 490, context.y - 20, **SOURCE)
    d.fork(old.edge((right, old.y)), [(x - 9, bottom) for x in places], **TARGET)


def _new_state(d: Diagram, old: Box, context: Box) -> None:
    """From context, old state and last token to the new state and the output."""
    new = d.box("$s_t$", context.x, 124, width=50, **TARGET)
    readout = d.box("readout", context.x, 62, width=90)
    token = d.text("$y_{t-1}$", 430, new.y, **TARGET)
    top, side = context.y - context.height / 2, 366
    d.arrow(context, new, **SOURCE)
    d.arrow(
        (side, top), (side, readout.y + 8), (context.x + 45, readout.y + 8), **SOURCE
    )
    d.arrow(old, (old.x, new.y), new, **TARGET)
    d.arrow(token, new, **TARGET)
    d.arrow(token, (token.x, readout.y - 8), (context.x + 45, readout.y - 8), **TARGET)
    d.arrow(new, readout, **TARGET)
    d.arrow(readout, d.text("$y_t$", context.x, 14, **TARGET), **TARGET)
