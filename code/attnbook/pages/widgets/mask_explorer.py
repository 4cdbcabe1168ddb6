"""Masks to play with: the reader chooses who asks whom, and how many words are real.

The first state is drawn here, with the package's own functions. Every other one is
computed in the page by :data:`MOVED`, which a test holds against the package. How that
works on every front end is told in :mod:`.steppers`, and why the first
state is there as an image too, in :mod:`attnbook.pages.widgets.local_window`.
"""

from __future__ import annotations

import base64
import json
from html import escape
from typing import NamedTuple

import torch
from IPython.display import HTML
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import key_mask, masked_softmax, target_mask
from attnbook.pages.drawings.diagram import FONT, SIZE
from attnbook.pages.style import COLOURS, INK, TEXT_COLOURS
from attnbook.pages.widgets.local_window import READY
from attnbook.pages.widgets.steppers import (
    HIDDEN,
    KEYS,
    ROW,
    claim,
    handler,
    slider_row,
)
from attnbook.toy.example import SENTENCE
from attnbook.toy.language import translate_by_rule

PLACES = len(SENTENCE)  # of each side, words and pads together
# What goes into the decoder is shifted by one: it begins with BOS.
WORDS = {
    "source": SENTENCE,
    "target": ("bos", *translate_by_rule(SENTENCE).target[: PLACES - 1]),
}
KINDS = {
    "encoder self": ("source", "source"),
    "decoder self": ("target", "target"),
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
    "**A mask decides who may look at whom; the softmax shares 1 among what is left.** "
    "A batch of one sentence, six places on each side, words and pads; the scores are "
    "fixed. A row is a query, a column a key, both counted from 0; hatched cells are "
    "hidden. Pads are hidden as keys and not as queries."
)

# Pixels.
CELL, LEFT, TOP, RIGHT = 43, 80, 68, 10
WIDTH, HEIGHT = LEFT + CELL * PLACES + RIGHT, TOP + CELL * PLACES + 4
HATCH = f"M0,{CELL / 2} L{CELL / 2},0 M0,{CELL} L{CELL},0 M{CELL / 2},{CELL} "
HATCH += f"L{CELL},{CELL / 2}"
DEPTH = 0.7  # of the blue at a weight of 1: dark text can still be read on it
GREY = "#5F6872"

# A control has moved: what `grid`, `result` and `picture` do, in the page.
MOVED = (
    f"const scores = {json.dumps(SCORES)}, words = {json.dumps(WORDS)};"
    f"const sides = {json.dumps([*KINDS.values()])};"
    f"const colours = {json.dumps(TEXT_COLOURS)};"
    f"const [DEPTH, PLACES, GREY] = {json.dumps([DEPTH, PLACES, GREY])};"
    """
const find = what => [...this.querySelectorAll(what)];
const put = (e, given) => Object.entries(given).forEach(a => e.setAttribute(...a));
const kind = find('input[type=radio]').findIndex(e => e.checked);
const [source, target] = find('input[type=range]');
const [masked, left] = find('input[type=checkbox]').map(e => e.checked);
const length = {source: +source.value, target: +target.value};
const [asks, offers] = sides[kind];
const at = find('.book-cell'), range = [...Array(PLACES).keys()];
const label = side => {
  const pads = Array(PLACES - length[side]).fill('pad');
  const real = words[side].slice(0, length[side]);
  return left ? pads.concat(real) : real.concat(pads);
};
const rows = label(asks), columns = label(offers);
const wanted = range.map(i => range.map(
  j => columns[j] != 'pad' && (kind != 1 || j <= i)));
const open = wanted.map(row => row.map(allowed => allowed || !masked));
const weights = range.map(i => {
  const raw = range.map(j => open[i][j] ? Math.exp(scores[i][j]) : 0);
  const total = raw.reduce((a, b) => a + b);
  return raw.map(r => total ? r / total : 0);
});

weights.flat().forEach((w, n) => {
  const [square, hatch, number] = at[n].children;
  const shown = open.flat()[n];
  put(square, {'fill-opacity': (DEPTH * w).toFixed(2)});
  put(hatch, {opacity: shown ? 0 : 1});
  number.textContent = shown ? w.toFixed(2) : '';
});
[['row', rows, asks], ['column', columns, offers]].forEach(([name, texts, side]) => {
  find('.book-' + name).forEach((e, n) => {
    e.textContent = texts[n];
    put(e, {fill: texts[n] == 'pad' ? GREY : colours[side]});
  });
});
const list = rows => 'Row' + (rows.length > 1 ? 's ' : ' ')
  + rows.join(', ').replace(/, (?=[^,]*$)/, ' and ');
const count = cells => cells.flat().filter(a => a).length;
const empty = range.filter(i => !open[i].some(a => a));
const asking = range.filter(i => rows[i] == 'pad' && open[i].some(a => a));
const hidden = range.map(i => range.reduce(
  (sum, j) => sum + (wanted[i][j] ? 0 : weights[i][j]), 0));
const most = hidden.indexOf(Math.max(...hidden));
const name = kind == 1 ? `target_mask of shape (1, 1, ${PLACES}, ${PLACES})`
  : `key_mask of shape (1, 1, 1, ${PLACES})`;
const said = (masked ? [
  `${name}: ${count(open)} of ${PLACES * PLACES} cells are allowed.`,
  empty.length ? `${list(empty)} ${empty.length > 1 ? 'are' : 'is'} empty: zeros.`
    : 'No row is empty.',
  asking.length ? `${list(asking)} ${asking.length > 1 ? 'are pads' : 'is a pad'}`
    + ' and may look all the same.' : '',
] : [
  `No mask: all ${PLACES * PLACES} cells are allowed.`,
  hidden[most] ? `Row ${most} gives ${hidden[most].toFixed(2)} of its weight to places `
    + 'that the mask would hide.' : 'The mask would hide nothing.',
]).filter(text => text).join(' ');
find('.book-result')[0].textContent = said;
put(find('svg')[0], {'aria-label': said + range.map(i => ` ${i}, ${rows[i]}: `
  + range.map(j => open[i][j] ? weights[i][j].toFixed(2) : 'hidden').join(', ')
  + '.').join('')});

[[source, 'source'], [target, 'target']].forEach(([input, side]) => {
  put(input, {'aria-valuetext': input.value});
  const row = input.parentElement.parentElement;
  row.querySelector('output').textContent = input.value;
  row.style.display = [asks, offers].includes(side) ? 'flex' : 'none';
  row.querySelectorAll('button').forEach((button, end) => {
    const stop = input.value == (end ? input.max : input.min);
    put(button, {'aria-disabled': stop});
    button.style.opacity = stop ? 0.4 : 1;
  });
});
"""
)


class State(NamedTuple):
    """What the reader chooses."""

    kind: str  # one of KINDS
    source: int  # how many words are real
    target: int
    masked: bool
    left: bool  # pads on the left


START = State("cross", 4, 5, True, False)


def mask_explorer(caption: str = CAPTION) -> HTML:
    """Let the reader choose lengths and an attention, and see its mask and weights.

    Args:
        caption: What is to be learned, as a claim; what stands between double asterisks
            is bold.

    Returns:
        The figure with its controls, which a notebook shows.
    """
    drawn, said = picture(START), result(START)
    image = base64.b64encode(drawn.encode()).decode()
    return HTML(
        f'<figure class="book-stepper" style="margin: 1em 0; max-width: 510px"'
        f"{handler('oninput', MOVED)}>\n{_controls(START)}\n"
        '<div class="book-frame">\n'
        f'<img src="data:image/svg+xml;base64,{image}" alt="{escape(describe(START))}" '
        f'width="{WIDTH}" style="max-width: 100%; height: auto"'
        f"{handler('onload', READY)}>\n"
        f'<div class="book-live"{HIDDEN}>\n{drawn}\n</div>\n'
        '<p class="book-result" aria-live="polite" '
        f'style="margin: 0.3em 0; min-height: 5em">{said}</p>\n</div>\n'
        f"<figcaption>{claim(caption)}</figcaption>\n</figure>"
    )


def sequence(side: str, state: State) -> tuple[str, ...]:
    """The six places of a side: its words, filled up with pads."""
    real = WORDS[side][: getattr(state, side)]
    pads = ("pad",) * (PLACES - len(real))
    return pads + real if state.left else real + pads


def intended_mask(state: State) -> Tensor:
    """The mask that belongs to the attention: (1, 1, T or 1, S), bool."""
    _, offers = KINDS[state.kind]
    words = sequence(offers, state)
    ids = torch.tensor([[PAD if word == "pad" else PAD + 1 for word in words]])
    return target_mask(ids) if state.kind == "decoder self" else key_mask(ids)


def grid(state: State) -> tuple[Tensor, Tensor]:
    """What is allowed, bool, and the weights, float64; both (T, S)."""
    mask = intended_mask(state)
    if not state.masked:
        mask = torch.ones_like(mask)
    scores = torch.tensor(SCORES, dtype=torch.float64)[None, None]  # (B, H, T, S)
    return mask.expand(scores.shape)[0, 0], masked_softmax(scores, mask)[0, 0]


def result(state: State) -> str:
    """What the mask looks like, and what it does, in words."""
    allowed, weights = grid(state)
    mask = intended_mask(state)
    if not state.masked:
        hidden = weights.masked_fill(mask[0, 0], 0).sum(-1)  # (T,)
        row = hidden.argmax().item()
        return f"No mask: all {allowed.numel()} cells are allowed. " + (
            f"Row {row} gives {hidden[row]:.2f} of its weight to places that the mask "
            "would hide."
            if hidden[row]
            else "The mask would hide nothing."
        )
    name = "target_mask" if state.kind == "decoder self" else "key_mask"
    rows = sequence(KINDS[state.kind][0], state)
    empty = [i for i in range(PLACES) if not allowed[i].any()]
    asking = [i for i in range(PLACES) if rows[i] == "pad" and i not in empty]
    said = [
        f"{name} of shape {tuple(mask.shape)}: {allowed.sum()} of {allowed.numel()} "
        "cells are allowed.",
        f"{_list(empty)} {'are' if len(empty) > 1 else 'is'} empty: zeros."
        if empty
        else "No row is empty.",
    ]
    if asking:
        pads = "are pads" if len(asking) > 1 else "is a pad"
        said.append(f"{_list(asking)} {pads} and may look all the same.")
    return " ".join(said)


def describe(state: State) -> str:
    """The result, and each row with its weights, for those who cannot see it."""
    allowed, weights = grid(state)
    rows = sequence(KINDS[state.kind][0], state)
    said = [result(state)]
    for i, word in enumerate(rows):
        cells = ", ".join(
            f"{w:.2f}" if shown else "hidden"
            for w, shown in zip(weights[i], allowed[i], strict=True)
        )
        said.append(f"{i}, {word}: {cells}.")
    return " ".join(said)


def _list(rows: list[int]) -> str:
    """Row 3; Rows 3 and 4; Rows 3, 4 and 5."""
    *first, last = map(str, rows)
    return f"Rows {', '.join(first)} and {last}" if first else f"Row {last}"


def picture(state: State) -> str:
    """Draw a state as SVG: a cell for each query and key, with its weight."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(describe(state))}" font-family="{FONT}" '
            f'font-size="{SIZE}" fill="{INK}" '
            'style="display: block; max-width: 100%; height: auto">',
            '<rect width="100%" height="100%" rx="6" fill="#FFF"/>',
            *_labels(state),
            *_cells(state),
            "</svg>",
        ]
    )


def _cells(state: State) -> list[str]:
    """Blue by weight with the number, or hatched."""
    allowed, weights = grid(state)
    return [
        f'<g class="book-cell" transform="translate({LEFT + CELL * j},{TOP + CELL * i})'
        f'"><rect width="{CELL}" height="{CELL}" fill="{COLOURS["source"]}" '
        f'fill-opacity="{DEPTH * weights[i, j]:.2f}" stroke="{GREY}"/>'
        f'<path d="{HATCH}" stroke="#939CA6" opacity="{0 if allowed[i, j] else 1}"/>'
        f'<text x="{CELL / 2}" y="{CELL / 2 + 6}" text-anchor="middle">'
        f"{f'{weights[i, j]:.2f}' if allowed[i, j] else ''}</text></g>"
        for i in range(PLACES)
        for j in range(PLACES)
    ]


def _labels(state: State) -> list[str]:
    """The words of the queries at the left, those of the keys above, on the slant."""
    asks, offers = KINDS[state.kind]
    rows, columns = sequence(asks, state), sequence(offers, state)
    marks = [
        f'<text x="{LEFT - 8}" y="{y}" text-anchor="end" '
        f'fill="{TEXT_COLOURS[role]}">{role} {arrow}</text>'
        for role, arrow, y in (("key", "→", TOP - 34), ("query", "↓", TOP - 10))
    ]
    for n in range(PLACES):
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


def _controls(state: State) -> str:
    """The attention, the lengths, whether there is a mask, where the pads are."""
    kinds = "".join(
        _choice("radio", kind, kind == state.kind, ' name="attention"')
        for kind in KINDS
    )
    sliders = "".join(
        slider_row(
            f"{side.title()} length",
            f"{side.title()} length",
            low=1,
            value=getattr(state, side),
            high=PLACES,
            text=f"{getattr(state, side)}",
        )
        for side in ("source", "target")
    )
    boxes = _choice("checkbox", "mask", state.masked)
    boxes += _choice("checkbox", "pads on the left", state.left)
    # The form keeps the radio buttons of two such figures apart; it sends nothing.
    return (
        f'<div class="book-controls"{HIDDEN}><form onsubmit="return false">'
        '<fieldset style="border: 0; padding: 0; margin: 0 0 0.6em; min-width: 0">'
        '<legend style="font: inherit; color: inherit; padding: 0; float: none">'
        f'Attention</legend><div style="{ROW}; flex-wrap: wrap">{kinds}</div>'
        f'</fieldset>{sliders}<div style="{ROW}; flex-wrap: wrap; '
        f'margin-bottom: 0.6em">{boxes}</div></form></div>'
    )


def _choice(type_: str, text: str, chosen: bool, more: str = "") -> str:
    """A radio button or a box to tick, with its text."""
    checked = ' checked="checked"' if chosen else ""
    return (
        f'<label style="{ROW}; min-height: 24px"><input {KEYS} type="{type_}"{more}'
        f'{checked} autocomplete="off" style="width: 24px; height: 24px; margin: 0; '
        f'flex: none; accent-color: {COLOURS["source"]}"><span>{text}</span></label>'
    )
