"""The drawings of chapter 8: a skip connection, and the layers built with it."""

import math

from attnbook.course.kit.drawings.diagram import SOURCE, Box, Diagram

ROLES = ("query", "key", "value")
WIDE = 132  # a box with the name of a sublayer
STREAM = 3.4  # width of the line that leads from a layer's input to its output


def residual() -> Diagram:
    """A sublayer and its skip connection: above its values, below its gradients."""
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
    """A box and its skip connection; x of the input, the fork, the sum, the output."""
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
        "to the layer's output, and two sublayers, self-attention and feed-forward, "
        "branch off to the right, pass dropout and are added back. Post-norm: after "
        "each sum the thick line goes through a box LayerNorm. Pre-norm: the two "
        "LayerNorms stand on the branches, before the sublayers; the thick line meets "
        "nothing but the two sums, and one more LayerNorm after the last layer."
    )
    d = Diagram(510, 622, alt=alt)
    _encoder_layer(d, "post-norm", 62, 182, norm_first=False)
    _encoder_layer(d, "pre-norm", 314, 432, norm_first=True)
    return d


def _encoder_layer(
    d: Diagram, title: str, stream: float, branch: float, *, norm_first: bool
) -> None:
    """One layer; x of its stream and of the branches."""
    d.text(title, (stream + branch) / 2, 606)
    below = d.text("$x$", stream, 576)
    d.text("(B, S, D)", stream + 50, 576)
    draw = _pre_norm if norm_first else _post_norm
    for name, foot in (("self-attention", 532), ("feed-forward", 312)):
        below = draw(d, name, below, branch, foot)
    out = d.text("(B, S, D)", stream, 84)
    d.arrow(below, out, width=STREAM)
    if norm_first:
        norm = d.box("LayerNorm", stream, 30, width=100, height=34)
        d.arrow(out, norm, width=STREAM)
        d.text("after the", branch, 20)
        d.text("last layer", branch, 40)


def _post_norm(d: Diagram, name: str, below: Box, branch: float, foot: float) -> Box:
    """A sublayer that branches off at the height ``foot``; the norm after the sum."""
    plus = d.plus(below.x, foot - 114)
    norm = d.box("LayerNorm", below.x, foot - 164, width=100, height=34)
    box = d.box(name, branch, foot - 62, width=WIDE)
    if name == "self-attention":
        _queries_keys_values(d, box, foot)
        d.line((below.x, foot), (branch + 24.9, foot))
    else:
        d.arrow((below.x, foot), (branch, foot), box)
    _dropout(d, box, plus)
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
    _dropout(d, box, plus)
    d.arrow(below, plus, width=STREAM)
    return plus


def _dropout(d: Diagram, box: Box, plus: Box) -> None:
    """From a sublayer to its sum, through dropout."""
    d.arrow(box, (box.x, plus.y), plus)
    d.text("dropout", (plus.x + box.x) / 2 + 6, plus.y - 17)


def _queries_keys_values(d: Diagram, box: Box, start: float) -> None:
    """Three arrows from below, each in its colour, from the same vectors."""
    for role, shift in zip(ROLES, (-24, 0, 24), strict=True):
        x = box.x + shift
        d.arrow((x, start), (x, box.y + box.height / 2), role=role)


def decoder_layer() -> Diagram:
    """The decoder layer, post-norm: three sublayers, their masks, the memory."""
    alt = (
        "From the bottom up: a thick line goes from x, (B, T, D), to the output; three "
        "sublayers branch off, pass dropout, are added back, and a LayerNorm follows "
        "each sum. Self-attention has queries, keys and values from the line and gets "
        "a mask (B, 1, T, T), causal and for padding. Cross-attention holds three "
        "matrices: W^Q is fed from the line, W^K and W^V by one arrow from the memory, "
        "(B, S, D), which forks inside; its mask, (B, 1, 1, S), is for the source's "
        "padding. Feed-forward gets nothing else."
    )
    d = Diagram(510, 786, alt=alt)
    stream, branch = 62, 212
    below = d.text("$x$", stream, 768)
    d.text("(B, T, D)", stream + 50, 768)
    below = _post_norm(d, "self-attention", below, branch, 724)
    _mask(d, ("causal, padding", "(B, 1, T, T)"), branch + WIDE / 2, 662)
    below = _cross_attention(d, below, branch, 504)
    below = _post_norm(d, "feed-forward", below, branch, 248)
    d.arrow(below, d.text("(B, T, D)", stream, 20), width=STREAM)
    return d


def _mask(d: Diagram, lines: tuple[str, str], edge: float, y: float) -> None:
    """What an attention may see, right of its box and led to the box's edge."""
    for line, shift in zip(("mask:", *lines), (-22, 0, 22), strict=True):
        d.text(line, 432, y + shift)
    d.arrow((362, y), (edge, y))


def _cross_attention(d: Diagram, below: Box, branch: float, foot: float) -> Box:
    """Cross-attention with its matrices: the memory goes in by one arrow, and forks."""
    plus = d.plus(below.x, foot - 152)
    norm = d.box("LayerNorm", below.x, foot - 202, width=100, height=34)
    edge = branch + 92
    d.stack(branch - 92, foot - 124, edge, foot - 12, sheets=1)
    d.text("cross-attention", branch, foot - 104)
    matrices = [
        d.box(
            f"$W^{letter}$", branch + shift, foot - 64, role=role, width=46, height=32
        )
        for letter, role, shift in zip("QKV", ROLES, (-60, 0, 60), strict=True)
    ]
    memory = d.box("memory", 432, foot - 28, width=90, **SOURCE)
    d.text("(B, S, D)", 432, foot + 8, **SOURCE)
    for matrix in matrices[:0:-1]:
        d.arrow(memory, (matrix.x, foot - 28), (matrix.x, foot - 48), **SOURCE)
    _mask(d, ("source padding", "(B, 1, 1, S)"), edge, foot - 104)
    query = matrices[0].x
    d.arrow((below.x, foot), (query, foot), (query, foot - 48))
    out = Box(branch, foot - 118, 2 * 92, 12)
    _dropout(d, out, plus)
    d.arrow(below, plus, width=STREAM)
    d.arrow(plus, norm, width=STREAM)
    return norm
