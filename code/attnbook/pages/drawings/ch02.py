"""The drawings of chapter 2: a context of its own for each word, and one step of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor

from attnbook.pages.drawings.diagram import Box, Diagram
from attnbook.pages.tables import shares

WIDEST = 12  # pixels: an arrow that carries all the weight
THINNEST = 0.6
WEIGHT = 229  # height of the row of weights


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
