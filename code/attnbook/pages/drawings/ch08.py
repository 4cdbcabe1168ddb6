"""The drawings of chapter 8: the way around a sub-layer, and the layers made so."""

from __future__ import annotations

import math

from attnbook.pages.drawings.diagram import SOURCE, Box, Diagram

ROLES = ("query", "key", "value")
WIDE = 132  # a box with the name of a sub-layer
STREAM = 3.4  # width of the line that leads from a layer's input to its output


def residual() -> Diagram:
    """A sub-layer with the way around it: above its numbers, below its gradients."""
    alt = (
        "Two rows. Forwards, from left to right: x forks; one way leads through the "
        "box f, the other, thick, around it; where they meet they are added, x + f(x). "
        "Backwards, from right to left: the gradient g forks where the sum was; one "
        "way leads through a box that multiplies by f's derivative, the other, thick, "
        "around it unchanged; where x had forked they are added, g + g f'(x)."
    )
    d = Diagram(510, 268, alt=alt)
    left, right = 166, 366
    _around(d, "$f$", ("$x$", 92), ("$x + f(x)$", 450), (left, right), 92)
    _around(d, "times $f′(x)$", ("$g$", 430), ("$g + g f′(x)$", 62), (right, left), 232)
    d.text("forwards", 62, 36)
    d.text("backwards", 450, 176)
    return d


def _around(
    d: Diagram,
    label: str,
    goes_in: tuple[str, float],
    comes_out: tuple[str, float],
    forks: tuple[float, float],
    y: float,
) -> None:
    """A box with a way around it; x of what goes in, of the fork, the sum, the end."""
    fork, end = forks
    box = d.box(label, (fork + end) / 2, y, width=110)
    plus, start = d.plus(end, y), d.text(*goes_in, y).x
    d.arrow((start + math.copysign(12, fork - start), y), box)
    d.arrow(box, plus)
    d.arrow((fork, y), (fork, y - 56), (end, y - 56), plus, width=STREAM)
    d.arrow(plus, d.text(*comes_out, y))


def post_and_pre() -> Diagram:
    """The encoder layer, post-norm on the left and pre-norm on the right."""
    alt = (
        "Two columns, from the bottom up; in each a thick line goes from x, (B, S, D), "
        "to the layer's output, and two sub-layers, self-attention and feed-forward, "
        "branch off to the right and are added back. Post-norm: after each sum the "
        "thick line goes through a box LayerNorm. Pre-norm: the two LayerNorms stand "
        "on the branches, before the sub-layers, and the thick line meets nothing but "
        "the two sums. Dropout is on the way from a sub-layer to its sum."
    )
    d = Diagram(510, 560, alt=alt)
    _encoder_layer(d, "post-norm", 62, 182, norm_first=False)
    _encoder_layer(d, "pre-norm", 314, 432, norm_first=True)
    return d


def _encoder_layer(
    d: Diagram, title: str, stream: float, branch: float, *, norm_first: bool
) -> None:
    """One layer; x of its stream and of the branches."""
    d.text(title, (stream + branch) / 2, 18)
    below = d.text("$x$", stream, 542)
    d.text("(B, S, D)", stream + 50, 542)
    draw = _pre_norm if norm_first else _post_norm
    for name, foot in (("self-attention", 498), ("feed-forward", 278)):
        below = draw(d, name, below, branch, foot)
    d.text("dropout", (stream + branch) / 2 - 3, 325 if norm_first else 367)
    d.arrow(below, d.text("(B, S, D)", stream, 50), width=STREAM)


def _post_norm(d: Diagram, name: str, below: Box, branch: float, foot: float) -> Box:
    """A sub-layer that branches off at the height ``foot``; the norm after the sum."""
    plus = d.plus(below.x, foot - 114)
    norm = d.box("LayerNorm", below.x, foot - 164, width=100, height=34)
    box = d.box(name, branch, foot - 62, width=WIDE)
    if name == "self-attention":
        _queries_keys_values(d, box, foot)
        d.line((below.x, foot), (branch + 24.9, foot))
    elif name == "cross-attention":
        d.arrow((branch, foot), box, role="query")
        d.line((below.x, foot), (branch + 0.9, foot))
    else:
        d.arrow((below.x, foot), (branch, foot), box)
    d.arrow(box, (branch, plus.y), plus)
    d.arrow(below, plus, width=STREAM)
    d.arrow(plus, norm, width=STREAM)
    return norm


def _pre_norm(d: Diagram, name: str, below: Box, branch: float, foot: float) -> Box:
    """The same, with the norm on the branch."""
    plus = d.plus(below.x, foot - 156)
    norm = d.box("LayerNorm", branch, foot - 42, width=100, height=34)
    box = d.box(name, branch, foot - 106, width=WIDE)
    if name == "self-attention":
        _queries_keys_values(d, box, norm.y - norm.height / 2)
    else:
        d.arrow(norm, box)
    d.arrow((below.x, foot), (branch, foot), norm)
    d.arrow(box, (branch, plus.y), plus)
    d.arrow(below, plus, width=STREAM)
    return plus


def _queries_keys_values(d: Diagram, box: Box, start: float) -> None:
    """Three arrows from below, each in its colour, from the same vectors."""
    for role, shift in zip(ROLES, (-24, 0, 24), strict=True):
        x = box.x + shift
        d.arrow((x, start), (x, box.y + box.height / 2), role=role)


def decoder_layer() -> Diagram:
    """The decoder layer, post-norm: three sub-layers, their masks, the memory."""
    alt = (
        "From the bottom up: a thick line goes from x, (B, T, D), to the output; three "
        "sub-layers branch off, are added back, and a LayerNorm follows each sum. "
        "Self-attention has queries, keys and values from the line and gets a mask "
        "(B, 1, T, T), causal and for padding. Cross-attention has queries from the "
        "line, keys and values from the memory, (B, S, D), and gets a mask "
        "(B, 1, 1, S) for the source's padding. Feed-forward gets nothing else."
    )
    d = Diagram(510, 750, alt=alt)
    stream, branch = 62, 212
    below = d.text("$x$", stream, 732)
    d.text("(B, T, D)", stream + 50, 732)
    below = _post_norm(d, "self-attention", below, branch, 688)
    _mask(d, Box(branch, 626, WIDE, 38), ("causal, padding", "(B, 1, T, T)"))
    below = _post_norm(d, "cross-attention", below, branch, 468)
    _memory(d, Box(branch, 406, WIDE, 38))
    below = _post_norm(d, "feed-forward", below, branch, 248)
    d.arrow(below, d.text("(B, T, D)", stream, 20), width=STREAM)
    return d


def _mask(d: Diagram, box: Box, lines: tuple[str, str]) -> None:
    """What an attention may see, written right of its box and led into it."""
    d.text("mask:", 432, box.y - 66)
    for line, shift in zip(lines, (-44, -22), strict=True):
        d.text(line, 432, box.y + shift)
    x = 310
    edge = box.x + box.width / 2
    d.arrow((358, box.y - 44), (x, box.y - 44), (x, box.y - 8), (edge, box.y - 8))


def _memory(d: Diagram, box: Box) -> None:
    """Keys and values from the encoder, and which of them are real."""
    _mask(d, box, ("source padding", "(B, 1, 1, S)"))
    memory = d.box("memory", 432, box.y + 32, width=90, **SOURCE)
    d.text("(B, S, D)", 432, box.y + 66, **SOURCE)
    edge = box.x + box.width / 2
    for role, x, start, end in (
        ("key", 330, memory.y - 8, box.y + 2),
        ("value", 310, memory.y + 8, box.y + 12),
    ):
        d.arrow((387, start), (x, start), (x, end), (edge, end), role=role)
    d.text("$K$", 368, memory.y - 22, role="key")
    d.text("$V$", 368, memory.y + 24, role="value")
