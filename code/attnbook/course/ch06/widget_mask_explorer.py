"""Masks to play with: the reader chooses the attention, and how many tokens are real.

The first state is drawn here, with the package's own functions. Every other one is
computed in the page by ``mask_explorer.js``, which a test holds against the package.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from IPython.display import HTML
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.colours import COLOURS, TEXT_COLOURS
from attnbook.course.kit.widgets.controls import (
    ROW,
    choice,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.course.kit.widgets.pictures import live_picture, svg
from attnbook.course.kit.widgets.scripts import on_load
from attnbook.nn.masks import key_mask, masked_softmax, target_mask
from attnbook.toy.example import SENTENCE
from attnbook.toy.language import translate_by_rule

POSITIONS = len(SENTENCE)  # of each side, tokens and padding together
# What goes into the decoder is shifted by one: it begins with BOS.
WORDS = {
    "source": SENTENCE,
    "target": ("bos", *translate_by_rule(SENTENCE).target[: POSITIONS - 1]),
}
CAUSAL = "decoder self"
KINDS = {
    "encoder self": ("source", "source"),
    CAUSAL: ("target", "target"),
    "cross": ("target", "source"),
}
"""Each attention: the side that the queries come from, and that of the keys."""
SCORES = (
    (1.2, 0.1, 0.4, -0.5, 0.2, 0.9),
    (0.3, 0.8, 1.5, 0.0, -0.4, 0.6),
    (-0.2, 1.4, 0.5, 0.9, 0.1, 1.1),
    (0.0, -0.6, 1.3, 0.7, 0.4, 1.6),
    (0.5, 0.2, -0.3, 1.0, 0.6, 1.8),
    (0.1, -0.1, 1.0, 1.7, 0.8, 0.3),
)
"""How well each key fits each query, (T, S); chosen by hand."""
CAPTION = (
    "**A mask decides which keys a query may attend to; their weights sum to "
    "1.** Source and target have six positions each, padding included; the scores "
    "are fixed. Rows are queries, columns keys, and numbers attention weights; "
    "hatched cells are masked. Padding is masked as a key and not as a query."
)

# Pixels.
CELL, LEFT, TOP, RIGHT = 43, 80, 68, 10
WIDTH, HEIGHT = LEFT + CELL * POSITIONS + RIGHT, TOP + CELL * POSITIONS + 4
HATCH = f"M0,{CELL / 2} L{CELL / 2},0 M0,{CELL} L{CELL},0 M{CELL / 2},{CELL} "
HATCH += f"L{CELL},{CELL / 2}"
DEPTH = 0.7  # of the blue at a weight of 1: dark text can still be read on it
GREY = "#5F6872"


class MaskState(NamedTuple):
    """What the reader chooses."""

    kind: str  # one of KINDS
    source: int  # number of real tokens
    target: int
    masked: bool
    left: bool  # padding on the left


START = MaskState("cross", 4, 5, True, False)


def mask_explorer(caption: str = CAPTION) -> HTML:
    """Let the reader choose lengths and an attention, and see its mask and weights."""
    script = on_load(
        "widget_mask_explorer",
        scores=SCORES,
        words=WORDS,
        kinds=[(*sides, kind == CAUSAL) for kind, sides in KINDS.items()],
        colours=TEXT_COLOURS,
        grey=GREY,
        depth=DEPTH,
    )
    first = live_picture(
        picture(START),
        describe(START),
        result(START),
        width=WIDTH,
        script=script,
        look="; min-height: 5em",  # the page does not jump
    )
    return figure(f"{_controls(START)}\n{first}", caption, width=510)


def sequence(side: str, state: MaskState) -> tuple[str, ...]:
    """The six positions of a side: its tokens and padding."""
    real = WORDS[side][: getattr(state, side)]
    pads = ("pad",) * (POSITIONS - len(real))
    return pads + real if state.left else real + pads


def intended_mask(state: MaskState) -> Tensor:
    """The mask that belongs to the attention: (1, 1, T or 1, S), bool."""
    _, offers = KINDS[state.kind]
    words = sequence(offers, state)
    ids = torch.tensor([[PAD if word == "pad" else PAD + 1 for word in words]])
    return target_mask(ids) if state.kind == CAUSAL else key_mask(ids)


def grid(state: MaskState) -> tuple[Tensor, Tensor]:
    """What is allowed, bool, and the weights, float64; both (T, S)."""
    mask = intended_mask(state)
    if not state.masked:
        mask = torch.ones_like(mask)
    scores = torch.tensor(SCORES, dtype=torch.float64)[None, None]  # (B, H, T, S)
    return mask.expand(scores.shape)[0, 0], masked_softmax(scores, mask)[0, 0]


def result(state: MaskState) -> str:
    """What the mask looks like, and what it does, in words."""
    allowed, weights = grid(state)
    mask = intended_mask(state)
    if not state.masked:
        hidden = weights.masked_fill(mask[0, 0], 0).sum(-1)  # (T,)
        row = hidden.argmax().item()
        return f"No mask: all {allowed.numel()} cells are allowed. " + (
            f"Row {row + 1} gives {hidden[row]:.2f} of its weight to positions that "
            "the mask would hide."
            if hidden[row]
            else "The mask would hide nothing."
        )
    name = "target_mask" if state.kind == CAUSAL else "key_mask"
    rows = sequence(KINDS[state.kind][0], state)
    empty = [i for i in range(POSITIONS) if not allowed[i].any()]
    padding = [i for i in range(POSITIONS) if rows[i] == "pad" and i not in empty]
    said = [
        f"{name} of shape {tuple(mask.shape)}: {allowed.sum()} of {allowed.numel()} "
        "cells are allowed.",
        f"{_list(empty)} {'are' if len(empty) > 1 else 'is'} fully masked: zeros."
        if empty
        else "No row is fully masked.",
    ]
    if padding:
        verb = "are" if len(padding) > 1 else "is"
        said.append(f"{_list(padding)} {verb} padding, but may still attend.")
    return " ".join(said)


def describe(state: MaskState) -> str:
    """The result, and each row with its weights, for those who cannot see it."""
    allowed, weights = grid(state)
    rows = sequence(KINDS[state.kind][0], state)
    said = [result(state)]
    for i, word in enumerate(rows):
        cells = ", ".join(
            f"{w:.2f}" if shown else "hidden"
            for w, shown in zip(weights[i], allowed[i], strict=True)
        )
        said.append(f"{i + 1}, {word}: {cells}.")
    return " ".join(said)


def _list(rows: list[int]) -> str:
    """Row 3; Rows 3 and 4; Rows 3, 4 and 5: counted from 1, given from 0."""
    *first, last = (str(row + 1) for row in rows)
    return f"Rows {', '.join(first)} and {last}" if first else f"Row {last}"


def picture(state: MaskState) -> str:
    """Draw a state as SVG: a cell for each query and key, with its weight."""
    marks = [*_labels(state), *_cells(state)]
    return svg(WIDTH, HEIGHT, describe(state), marks)


def _cells(state: MaskState) -> list[str]:
    """Blue by weight with the number, or hatched."""
    allowed, weights = grid(state)
    return [
        f'<g class="book-cell" transform="translate({LEFT + CELL * j},{TOP + CELL * i})'
        f'"><rect width="{CELL}" height="{CELL}" fill="{COLOURS["source"]}" '
        f'fill-opacity="{DEPTH * weights[i, j]:.2f}" stroke="{GREY}"/>'
        f'<path d="{HATCH}" stroke="#939CA6" opacity="{0 if allowed[i, j] else 1}"/>'
        f'<text x="{CELL / 2}" y="{CELL / 2 + 6}" text-anchor="middle">'
        f"{f'{weights[i, j]:.2f}' if allowed[i, j] else ''}</text></g>"
        for i in range(POSITIONS)
        for j in range(POSITIONS)
    ]


def _labels(state: MaskState) -> list[str]:
    """The words of the queries at the left, those of the keys above, on the slant."""
    asks, offers = KINDS[state.kind]
    rows, columns = sequence(asks, state), sequence(offers, state)
    marks = [
        f'<text x="{LEFT - 8}" y="{y}" text-anchor="end" '
        f'fill="{TEXT_COLOURS[role]}">{role} {arrow}</text>'
        for role, arrow, y in (("key", "→", TOP - 34), ("query", "↓", TOP - 10))
    ]
    for n in range(POSITIONS):
        middle = CELL * (n + 0.5)
        marks.append(
            f'<text class="book-row" x="{LEFT - 8}" y="{TOP + middle + 6}" '
            f'text-anchor="end" fill="{_colour(asks, rows[n])}">{rows[n]}</text>'
        )
        marks.append(
            f'<text class="book-column" transform="translate({LEFT + middle},'
            f'{TOP - 10}) rotate(-45)" '
            f'fill="{_colour(offers, columns[n])}">{columns[n]}</text>'
        )
    return marks


def _colour(side: str, word: str) -> str:
    return GREY if word == "pad" else TEXT_COLOURS[side]


def _controls(state: MaskState) -> str:
    """The attention, the lengths, whether there is a mask, the side of the padding."""
    kinds = "".join(
        choice("radio", kind, chosen=kind == state.kind, group="attention")
        for kind in KINDS
    )
    sliders = "".join(_length_slider(side, getattr(state, side)) for side in WORDS)
    boxes = choice("checkbox", "mask", chosen=state.masked)
    boxes += choice("checkbox", "padding on the left", chosen=state.left)
    # The form keeps the radio buttons of two such figures apart; it sends nothing.
    return hidden_controls(
        '<form><fieldset style="border: 0; padding: 0; margin: 0 0 0.6em; '
        'min-width: 0"><legend style="font: inherit; color: inherit; padding: 0; '
        f'float: none">Attention</legend><div style="{ROW}; flex-wrap: wrap">{kinds}'
        f'</div></fieldset>{sliders}<div style="{ROW}; flex-wrap: wrap; '
        f'margin-bottom: 0.6em">{boxes}</div></form>'
    )


def _length_slider(side: str, length: int) -> str:
    name = f"{side.title()} length"
    ends = {"low": 1, "value": length, "high": POSITIONS}
    return slider_row(name, name, text=f"{length}", **ends)
