"""The drawings of chapter 2: a soft memory, and one step of Bahdanau's decoder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor

from attnbook.pages.drawings.diagram import SOURCE, TARGET, Box, Diagram
from attnbook.pages.drawings.encoder_states import HALF, encoder_states
from attnbook.pages.tables import shares

WIDEST = 12  # pixels: an arrow that carries all the weight
THINNEST = 0.6
WEIGHT = 229  # height of the row of weights

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
        "A memory of five encoder states, h_1 to h_5. Left, a hard read takes h_3 "
        "alone, which has no gradient. Right, a soft read takes the weighted average "
        f"c_t, with weights {', '.join(map(str, MEMORY))} as bars, which have one."
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
        ("hard read", "picks one state:", "no gradient"): 64,
        ("soft read", "takes a weighted average:", "the weights have a gradient"): 356,
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


def soft_alignment(
    source: Sequence[str], target: Sequence[str], weights: Tensor, step: int
) -> Diagram:
    """One step of the decoder; the arrows to the context are as wide as the weights.

    Args:
        source: The S source words.
        target: The target words, without EOS.
        weights: (T, S); one column for each of ``source``.
        step: Which target word is said, counted from 0; EOS comes last.

    Returns:
        The diagram.

    Raises:
        ValueError: If there are not as many weights as source words.
    """
    row, target = weights[step].tolist(), [*target, "EOS"]
    if len(row) != len(source):
        raise ValueError(
            f"{len(row)} weights for {len(source)} source words; give one each, and "
            "name EOS as a word where it has a weight"
        )
    alt = (
        "Each source word has an annotation of two halves. From each an arrow as wide "
        f"as its weight leads to the context: {shares(source, row)}. Context and last "
        f"decoder state lead to the next state, which says {target[step]}."
    )
    d = Diagram(510, 350, alt=alt)
    places = _annotations(d, source)
    d.box("", 255, WEIGHT, role="query", width=506, height=26)
    context = d.box("$c_i$", 255, 132, role="source", filled=True)
    for x, weight in zip(places, row, strict=True):
        width = max(WIDEST * weight, THINNEST)
        d.arrow((x, WEIGHT - 13), context, role="source", width=width)
        d.text(f"{weight:.2f}", x, WEIGHT, role="query")
    _decoder(d, places[0], context, target, step)
    return d


def _annotations(d: Diagram, source: Sequence[str]) -> list[float]:
    """Words at the bottom, above each its two halves; returns their places."""
    pitch = d.width / len(source)
    places = [(j + 0.5) * pitch for j in range(len(source))]
    forward, backward = [], []
    for j, x in enumerate(places, 1):
        look = {"role": "source", "width": 50, "height": 27}
        forward.append(d.box(f"→$h_{j}$", x, 263, **look))
        backward.append(d.box(f"←$h_{j}$", x, 290, **look))
        d.arrow(d.text(source[j - 1], x, 337, role="source"), backward[-1])
    for one, next_ in (*pairwise(forward), *pairwise(backward[::-1])):
        d.arrow(one, next_)
    return places


def _decoder(
    d: Diagram, left: float, context: Box, target: Sequence[str], step: int
) -> None:
    """The last state chooses the weights; with the context it gives the next one."""
    last = d.box("$s_{i-1}$", left, 68, role="target", width=50)
    new = d.box("$s_i$", 390, 68, role="target", width=50)
    said = d.text(target[step], new.x, 16, role="target")
    read = target[step - 1] if step else "BOS"
    d.text(read, 478, new.y, role="target")
    x = left - 14  # beside the first of the other arrows
    d.arrow((x, 87), (x, WEIGHT - 13), role="query", dashed=True)
    d.text("weights $α_i$", left + 46, 132, role="query")
    d.arrow(last, new, role="target")
    d.arrow(context, (new.x, context.y), new, role="source")
    d.arrow((474 - 6 * len(read), new.y), new, role="target")
    d.arrow(new, said, role="target")


def decoder_step() -> Diagram:
    """One step of the decoder, with the shape of all that passes along its arrows."""
    d = Diagram(
        510,
        452,
        alt="Top to bottom: score, softmax, weighted mean, GRU, readout. The score "
        "takes the state (B, H) and the keys (B, S, A) and gives e (B, S); softmax "
        "with a mask (B, S) gives the weights (B, S); the weighted mean of h "
        "(B, S, 2H) is the context (B, 2H); GRU and word vector (B, E) give the new "
        "state (B, H); the readout gives logits (B, V).",
    )
    score, softmax, mean, gru, readout = _middle_column(d)
    keys = d.box("$U h$", 50, score.y, role="key", width=60)
    d.text("mask", 50, softmax.y)
    states = d.box("$h$", 50, mean.y, role="source", width=60)
    word = d.box("$y_{i-1}$", 50, gru.y, role="target", width=60)
    last = d.box("$s_{i-1}$", 455, score.y, role="target", width=60)
    d.arrow(keys, score, label="(B, S, A)", role="key")
    d.arrow((76, softmax.y), softmax, label="(B, S)")
    d.arrow(states, mean, label="(B, S, 2H)", role="source")
    d.arrow(word, gru, label="(B, E)", role="target")
    d.arrow(last, score, label="(B, H)", role="query")
    d.arrow(last, (455, gru.y), gru, role="target")
    d.arrow(word, (50, readout.y), readout, role="target")
    d.arrow(mean, (370, mean.y), (370, readout.y), readout, role="source")
    return d


def _middle_column(d: Diagram) -> list[Box]:
    """What is computed, from top to bottom, and what each hands on."""
    names = ("score", "softmax", "weighted mean", "GRU", "readout")
    column = [
        d.box(name, 250, 30 + 82 * row, width=134) for row, name in enumerate(names)
    ]
    below = [*column[1:], d.text("logits", 250, 436, role="target")]
    handed_on = (
        ("$e_i$", "(B, S)", None),
        ("$α_i$", "(B, S)", "query"),
        ("$c_i$", "(B, 2H)", "source"),
        ("$s_i$", "(B, H)", "target"),
        ("", "(B, V)", "target"),
    )
    for box, next_, (name, shape, role) in zip(column, below, handed_on, strict=True):
        d.arrow(box, next_, label=shape, role=role)
        if name:
            d.text(name, 232, box.y + 39, role=role)
    return column
