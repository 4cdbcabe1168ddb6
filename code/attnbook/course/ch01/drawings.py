"""The drawings of chapter 1: the two models unrolled over time, and the GRU's cell."""

from collections.abc import Sequence
from itertools import pairwise

from attnbook.course.kit.drawings.diagram import SOURCE, TARGET, Box, Diagram
from attnbook.course.kit.drawings.encoder_states import HALF, encoder_states

COLUMN = 60  # pixels from one token to the next
FIRST = 34  # the column of c and s_0, before those of the tokens
ENCODER, CONTEXT, OUTPUTS, DECODER = 40, 152, 210, 286  # heights
STEM = 92  # where the old state branches off inside the cell
BOTTLENECK = 5  # pixels: the one arrow that carries the sentence


def unrolled(source: Sequence[str], target: Sequence[str]) -> Diagram:
    """Encoder and decoder over time; one arrow carries the sentence across."""
    link = "A thick arrow leads from c to s_0, and none to any other place."
    d, c, states, _ = _model(source, target, link)
    d.arrow(c, states[0], width=BOTTLENECK, **SOURCE)
    d.text("$c$ is the only link: the bottleneck", 190, CONTEXT + 24, **SOURCE)
    return d


def static_context(source: Sequence[str], target: Sequence[str]) -> Diagram:
    """The same model, with c an input of every decoder step and of every output."""
    link = "Arrows lead from c to every decoder state and to every output."
    d, c, (first, *states), outputs = _model(source, target, link)
    rail = (OUTPUTS + DECODER) / 2 - 4
    d.text("$c$ enters every state and every output", 202, CONTEXT + 24, **SOURCE)
    d.arrow(c, first, **SOURCE)
    ends = []
    for state, output in zip(states, outputs, strict=True):
        x = state.x + 12  # beside the arrow from the state to its output
        ends += [
            (x, state.y - state.height / 2),
            (x, output.y + output.height / 2),
        ]
    d.fork((c.x, rail), ends, **SOURCE)
    return d


GRU_CELL = (
    "From h_{j-1} and x_j come two gates, reset r_j and update z_j. The product "
    "U_h h_{j-1} is multiplied by r_j, and W_h x_j is added; a tanh gives the "
    "candidate h-tilde_j. It is multiplied by 1 - z_j, h_{j-1} by z_j, and the sum "
    "of the two is h_j."
)


def gru_cell() -> Diagram:
    """One step of a GRU: two gates, the candidate, and the mixture of old and new."""
    d = Diagram(510, 366, alt=GRU_CELL)
    d.frame(68, 12, 447, 320)
    old, new = d.box("$h_{j-1}$", 32, 46, width=52, **SOURCE), d.times(424, 134)
    keep, mix = d.times(366, 46), d.plus(424, 46)
    reset = d.box("reset\n$σ$", 192, 234, width=58, height=50)
    update = d.box("update\n$σ$", 366, 234, width=66, height=50)
    row = _candidate(d, reset)
    for gate in (reset, update):
        left, low, bottom = gate.x - 10, 288, gate.y + gate.height / 2
        d.arrow((STEM, old.y), (STEM, low), (left, low), (left, bottom), **SOURCE)
    d.arrow((STEM, old.y), (STEM, new.y), row[0], **SOURCE)
    for one, next_ in pairwise([old, keep, mix, d.box("$h_j$", 484, 46, **SOURCE)]):
        d.arrow(one, next_, **SOURCE)
    d.arrow(row[-1], new, **SOURCE)
    d.arrow(new, mix, **SOURCE)
    _gate_arrows(d, row, reset, update)
    d.arrow(update, keep)
    d.arrow(update, (new.x, update.y), new)
    for label, x, y in (("$r_j$", 206, 180), ("$z_j$", 352, 82), ("$1-z_j$", 395, 180)):
        d.text(label, x, y)
    return d


def _candidate(d: Diagram, reset: Box) -> list[Box]:
    """What makes up the candidate: the reset gate follows the product with U_h."""
    y = 134
    d.text("old state", 214, 30, **SOURCE)
    d.text("candidate $h̃_j$", 282, 100, **SOURCE)
    return [
        d.box("$U_h$", 132, y, width=40),
        d.times(reset.x, y),
        d.plus(256, y),
        d.box("tanh", 312, y, width=50, **SOURCE),
    ]


def _gate_arrows(d: Diagram, row: Sequence[Box], reset: Box, update: Box) -> None:
    """The arrows of the candidate, of the reset gate, and of x_j to its readers."""
    for one, next_ in pairwise(row):
        d.arrow(one, next_)
    d.arrow(reset, row[1])
    token = d.box("$W_h$", row[2].x, reset.y, width=40)
    d.arrow(token, row[2])
    x, low = d.text("$x_j$", token.x, 350), 306
    d.arrow(x, token)
    for gate in (reset, update):
        right, bottom = gate.x + 10, gate.y + gate.height / 2
        d.arrow((x.x, x.y - 10), (x.x, low), (right, low), (right, bottom))


def _model(
    source: Sequence[str], target: Sequence[str], link: str
) -> tuple[Diagram, Box, list[Box], list[Box]]:
    """What both models share: the diagram, c, the states from s_0 on, the outputs."""
    source, outputs = [*source, "<eos>"], [*target, "<eos>"]
    alt = (
        f"Above the {len(source)} source tokens {' '.join(source)} two rows of encoder "
        "states, joined by arrows to the right and to the left. The last state of each "
        f"row has an arrow to the vector c. Below, {len(outputs)} decoder states after "
        f"s_0 take <bos> {' '.join(target)} and give {' '.join(outputs)}. {link}"
    )
    d = Diagram(510, 362, alt=alt)
    c = _encoder(d, source)
    return d, c, *_decoder(d, outputs)


def _encoder(d: Diagram, tokens: Sequence[str]) -> Box:
    """The encoder's row, and c, to which the last states of both directions lead."""
    _, forward, backward = encoder_states(d, tokens, _places(tokens), ENCODER)
    c = d.box("$c$", FIRST, CONTEXT, filled=True, **SOURCE)
    last, right = forward[-1], forward[-1].x + 40
    d.arrow(last, (right, last.y), (right, c.y), c, **SOURCE)
    d.arrow(backward[0], (c.x, backward[0].y), c, **SOURCE)
    d.text("encoder", FIRST, ENCODER - HALF / 2)
    return c


def _decoder(d: Diagram, tokens: Sequence[str]) -> tuple[list[Box], list[Box]]:
    """The decoder's row: its states, from s_0 on, and its outputs."""
    places = _places(tokens)
    states = [
        d.box(f"$s_{t}$", x, DECODER, width=44, **TARGET)
        for t, x in enumerate([FIRST, *places])
    ]
    outputs = [
        d.text(token, x, OUTPUTS, **TARGET)
        for token, x in zip(tokens, places, strict=True)
    ]
    for token, state in zip(["<bos>", *tokens], states[1:], strict=False):
        d.arrow(d.text(token, state.x, DECODER + 58, **TARGET), state, **TARGET)
    for state, output in zip(states[1:], outputs, strict=True):
        d.arrow(state, output, **TARGET)
    for one, next_ in pairwise(states):
        d.arrow(one, next_, **TARGET)
    d.text("decoder", FIRST, DECODER + 58)
    return states, outputs


def _places(tokens: Sequence[str]) -> list[float]:
    """The middle of each token's column."""
    return [FIRST + COLUMN * t for t in range(1, len(tokens) + 1)]
