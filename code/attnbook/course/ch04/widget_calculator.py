"""Attention as a calculator: the reader changes any number, the weights follow.

The first state is drawn here, with the package's own :func:`attention`. Every other one
is computed in the page by ``calculator.js``, which a test holds against the package.
All that is drawn are tables, which JupyterLab keeps in a notebook that it has not run
itself. So the first state needs no image; its numbers can be read, and only be changed
once scripts run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from IPython.display import HTML
from torch import Tensor

from attnbook.course.kit.colours import COLOURS, INK, TEXT_COLOURS, tint
from attnbook.course.kit.widgets.controls import (
    BOX,
    BUTTON,
    HIDDEN,
    KEYS,
    ROW,
    choice,
    figure,
    hidden_controls,
)
from attnbook.course.kit.widgets.scripts import on_load
from attnbook.course.kit.widgets.tables import (
    CELL,
    LACK,
    TABLE,
    blue,
    cell,
    head,
    scale_of_blue,
)
from attnbook.nn.scaled_dot_product import attention

ASKING, OFFERING = ("old", "sees", "a"), ("old", "farmer", "sees", "bird")
MOST = 9.9  # the greatest number that may be entered: its scores fit their cells

Pairs = tuple[tuple[float, float], ...]
Mask = tuple[tuple[bool, ...], ...]


class CalculatorState(NamedTuple):
    """What the reader chooses."""

    q: Pairs  # (T, 2)
    k: Pairs  # (S, 2)
    v: Pairs  # (S, 2)
    mask: Mask  # (T, S)
    scaled: bool  # whether the scores are divided by √2


# Keys say how much a word names something, and whether it belongs to the subject
# (positive) or the object: the first and the last number of the sentence's states. So
# `old` looks for a name on the subject's side, `a` on the object's, `sees` on both. The
# values are four directions, which the outputs mix.
START = CalculatorState(
    q=((2.0, 1.0), (2.0, 0.0), (2.0, -1.0)),
    k=((0.0, 0.8), (1.0, 0.7), (0.1, 0.0), (0.9, -1.0)),
    v=((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)),
    mask=((True,) * len(OFFERING),) * len(ASKING),
    scaled=True,
)

FIELD = (
    f"font: inherit; color: {INK}; background: #FFF; box-sizing: border-box; "
    "width: 50px; height: 28px; margin: 1px; padding: 0; text-align: center; "
    "border-radius: 4px"
)


def calculator() -> HTML:
    """Let the reader change queries, keys, values and mask, and see what follows.

    Equation 1 of Vaswani et al. 2017, for three queries and four keys of width 2. Where
    a query may attend to nothing it gets zeros, as everywhere in this course.
    """
    inside = (
        f"{_controls()}\n"
        '<div class="book-frame">\n'
        '<div style="display: inline-flex; flex-wrap: wrap; gap: 12px; padding: 4px; '
        'max-width: 100%; background: #FFF; border-radius: 6px; color-scheme: light">\n'
        f"{_scores_table()}\n{_weights_table()}\n</div>\n"
        '<p class="book-result" aria-live="polite" '
        f'style="margin: 0.3em 0; white-space: pre-line">{result(START)}</p>\n</div>'
    )
    return figure(inside, "", width=720)


def attend(state: CalculatorState) -> tuple[Tensor, Tensor, Tensor]:
    """Scores (T, S), weights (T, S) and output (T, 2) of a state, float64."""
    q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in state[:3])
    scale = 1 / math.sqrt(q.shape[-1]) if state.scaled else 1.0
    output, weights = attention(
        q, k, v, torch.tensor(state.mask), scale=scale, need_weights=True
    )
    return q @ k.T * scale, weights, output


def result(state: CalculatorState) -> str:
    """Where each query's weight goes and what its output is, a line each."""
    _, weights, output = attend(state)
    rows = zip(ASKING, state.mask, weights, output, strict=True)
    return "\n".join(_sentence(*row) for row in rows)


def _sentence(word: str, may: Sequence[bool], weights: Tensor, output: Tensor) -> str:
    if not any(may):
        return f"“{word}” may attend to nothing: its weights and its output are 0."
    most = weights.max()
    best = [
        f"“{name}”"
        for name, allowed, weight in zip(OFFERING, may, weights, strict=True)
        if allowed and most - weight < 1e-9
    ]
    names = " and ".join(filter(None, [", ".join(best[:-1]), best[-1]]))
    share = "all" if len(best) == sum(may) else "most"
    each = " each" if len(best) > 1 else ""
    mean = ",\u00a0".join(map(_text, output))
    return f"“{word}” gives {share} to {names}, {_text(most)}{each}; output ({mean})."


def _text(number: Tensor) -> str:
    """Two decimals, with a real minus, and none before a zero."""
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _controls() -> str:
    """A box for the scale, and a button that brings the first numbers back."""
    text = "divide the scores by √<i>d<sub>k</sub></i> = √2"
    return hidden_controls(
        f'<div style="{ROW}; flex-wrap: wrap; justify-content: space-between">'
        f"{choice('checkbox', text, chosen=True, name='book-scaled')}"
        f'<button {KEYS} type="button" style="{BUTTON}; padding: 0 0.8em">Reset'
        "</button></div>"
    )


def _scores_table() -> str:
    """Queries at the left, keys at the top, their scores where they meet.

    A tick below each score says whether that query may attend to that key.
    """
    corner = _in_colour("key", "keys →") + "<br>" + _in_colour("query", "queries ↓")
    rows = [_cell(corner) + _columns("key", START.k)]
    for word, query, scores in zip(ASKING, START.q, attend(START)[0], strict=True):
        cells = [
            _cell(
                f'<span class="book-score">{_text(score)}</span><br>'
                f'<input {KEYS} type="checkbox" class="book-may" checked="checked" '
                f'autocomplete="off" style="{BOX}"{HIDDEN} '
                f'aria-label="“{word}” may attend to “{name}”">'
            )
            for name, score in zip(OFFERING, scores, strict=True)
        ]
        fields = "".join(_fields("query", word, query))
        rows.append(head("row", f"{word}<br>{fields}") + "".join(cells))
    return _table("Scores (untick a key to hide it from a query)", 5, rows)


def _weights_table() -> str:
    """Values at the top, weights below them, the outputs at the right."""
    output = head("col", _in_colour("value", "output"))
    given = {"asking": ASKING, "offering": OFFERING, "most": MOST, "lack": LACK}
    scale = scale_of_blue(on_load("widget_calculator", **given))
    corner = _cell(_in_colour("value", "values →") + scale)
    rows = [corner + _columns("value", START.v) + output]
    edge = f"border: 1px solid {tint(COLOURS['source'])}; background-color: "
    mixed = f"white-space: pre-line; background: {tint(COLOURS['value'])}"
    for word, weights, mean in zip(ASKING, *attend(START)[1:], strict=True):
        cells = [_cell(_text(w), "book-weight", edge + blue(w)) for w in weights]
        text = "\n".join(map(_text, mean))
        cells.append(_cell(text, "book-output", mixed))
        rows.append(head("row", word) + "".join(cells))
    return _table("Weights, and what they mix", 6, rows)


def _table(title: str, width: int, rows: Sequence[str]) -> str:
    head = f'<th colspan="{width}" scope="colgroup" style="{CELL}">{title}</th>'
    lines = "\n".join(f"<tr>{row}</tr>" for row in [head, *rows])
    return f'<table style="{TABLE}"><tbody>{lines}</tbody></table>'


def _cell(inside: str, name: str = "", look: str = "") -> str:
    return cell(inside, name, f"height: 56px; {look}")


def _columns(role: str, pairs: Pairs) -> str:
    """The words that offer, each above its two numbers."""
    named = zip(OFFERING, pairs, strict=True)
    return "".join(
        head("col", "<br>".join([word, *_fields(role, word, pair)]))
        for word, pair in named
    )


def _fields(role: str, word: str, pair: Sequence[float]) -> list[str]:
    """Two numbers to change, in the colour of what they are."""
    return [
        f'<input {KEYS} type="number" class="book-{role}" value="{x}" step="0.1" '
        f'min="-{MOST}" max="{MOST}" readonly="readonly" autocomplete="off" '
        f'aria-label="{place} number of the {role} of “{word}”" '
        f'style="{FIELD}; border: 2px solid {COLOURS[role]}">'
        for place, x in zip(("first", "second"), pair, strict=True)
    ]


def _in_colour(role: str, text: str) -> str:
    return f'<span style="color: {TEXT_COLOURS[role]}">{text}</span>'
