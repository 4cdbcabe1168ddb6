"""The additive score, drawn: the reader turns the query, words slide along the tanh.

The first state is drawn here; every other one is computed in the page by
``widget_query.js``, which a test holds against this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from IPython.display import HTML
from torch import Tensor

from attnbook.course.kit.colours import COLOURS, INK, PALE_GREY, TEXT_COLOURS
from attnbook.course.kit.widgets.controls import (
    choice,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.course.kit.widgets.pictures import live_picture, svg
from attnbook.course.kit.widgets.scripts import on_load
from attnbook.toy.example import QUERY, SENTENCE, STATES, U, V, W

CAPTION = (
    "Each panel is one hidden feature, and each dot on its curve is a word "
    "(*f*: *farmer*, *b*: *bird*). Move the slider from the subject's side to the "
    "object's, and watch which panel keeps the two nouns apart. Then take the tanh "
    "away, and slide again."
)
TITLES = ("1: noun?", "2: subject?", "3: object?")
NOUNS = {2: ("f", "source"), 5: ("b", "target")}  # their letters and colours

# Pixels; and REACH, how far a panel shows its axis, in both directions.
WIDTH, PANEL, GAP, TOP, REACH = 420, 128, 14, 30, 7
BARS, LINE, LEFT, UNIT = TOP + PANEL + 34, 23, 76, 290
HEIGHT = BARS + LINE * len(SENTENCE) + 4


class QueryState(NamedTuple):
    """What the reader chooses."""

    side: float  # the query's last component: 1 the subject's side, −1 the object's
    tanh: bool


START = QueryState(1.0, True)


def query_figure(caption: str = CAPTION) -> HTML:
    """Let the reader turn the query of the worked example, with and without tanh."""
    said = result(START)
    given = {
        "pushed": _pushed(START.side).tolist(),
        "turn": W[:, 3].tolist(),
        "v": V.tolist(),
        "words": SENTENCE,
        "panel": PANEL,
        "step": PANEL + GAP,
        "reach": REACH,
        "unit": UNIT,
    }
    script = on_load("widget_query", **given)
    first = live_picture(picture(START), said, said, width=WIDTH, script=script)
    row = slider_row(
        "The query's side", "Side", low=-10, value=10, high=10, text=_side(START.side)
    )
    box = choice("checkbox", "with the tanh", chosen=START.tanh)
    controls = hidden_controls(f'{row}<div style="margin-bottom: 0.6em">{box}</div>')
    return figure(f"{controls}\n{first}", caption, width=WIDTH)


def _pushed(side: float) -> Tensor:
    """W s + U h_j before the tanh: (6, 3)."""
    query = torch.tensor([*QUERY[:3].tolist(), side])
    return W @ query + STATES @ U.T


def weigh(state: QueryState) -> tuple[Tensor, Tensor, Tensor]:
    """Before the curve, (6, 3), after it, and the weights of the words, (6,)."""
    before = _pushed(state.side)
    after = before.tanh() if state.tanh else before
    return before, after, (after @ V).softmax(0)


def result(state: QueryState) -> str:
    """What the two nouns get."""
    weights = weigh(state)[2]
    curve = "With" if state.tanh else "Without"
    return f"{curve} the tanh, farmer gets {weights[2]:.2f} and bird {weights[5]:.2f}."


def _side(side: float) -> str:
    return f"{side:.1f}".replace("-", "−")


def picture(state: QueryState) -> str:
    """Draw a state as SVG: three curves with a dot for each word, and the weights."""
    before, after, weights = weigh(state)
    marks = []
    for k, title in enumerate(TITLES):
        marks += _panel(k, title, state, before[:, k].tolist(), after[:, k].tolist())
    marks.append(
        f'<text x="{LEFT - 8}" y="{BARS - 12}" text-anchor="end">weights</text>'
    )
    for j, (word, weight) in enumerate(zip(SENTENCE, weights.tolist(), strict=True)):
        marks += _bar(j, word, weight)
    return svg(WIDTH, HEIGHT, result(state), marks)


def _curve(state: QueryState) -> Callable[[float], float]:
    """How high the curve is above the middle of its panel, in halves of its height."""
    if state.tanh:
        return lambda x: 0.9 * math.tanh(x)
    return lambda x: 0.9 * x / REACH


def _place(x: float, y: float) -> tuple[str, str]:
    """Where a point of a panel is: x along the axis, y in halves of the height."""
    across = PANEL * (x + REACH) / (2 * REACH)
    return f"{across:.1f}", f"{PANEL * (1 - y) / 2:.1f}"


def _panel(
    k: int, title: str, state: QueryState, before: list[float], after: list[float]
) -> list[str]:
    curve, left = _curve(state), 4 + k * (PANEL + GAP)
    halves = [x / 4 for x in range(-4 * REACH, 4 * REACH + 1)]
    points = " ".join(",".join(_place(x, curve(x))) for x in halves)
    dots = []
    for j, x in enumerate(before):
        letter, role = NOUNS.get(j, ("", ""))
        fill = COLOURS[role] if role else "#8A8F98"
        across, down = _place(x, curve(x))
        dots.append(
            f'<g class="book-dot" transform="translate({across},{down})">'
            f'<circle r="{9 if role else 4}" fill="{fill}" stroke="#FFF"/>'
            f'<text y="4.5" text-anchor="middle" fill="#FFF" font-size="13">{letter}'
            "</text></g>"
        )
    dots.sort(key=lambda dot: 'r="9"' in dot)  # the nouns in front
    middle = PANEL / 2
    return [
        f'<text x="{left + middle:.0f}" y="20" text-anchor="middle">{title}</text>',
        f'<g class="book-panel" transform="translate({left},{TOP})">',
        f'<path d="M0,{middle} H{PANEL} M{middle},0 V{PANEL}" stroke="{PALE_GREY}"/>',
        f'<polyline class="book-curve" points="{points}" fill="none" stroke="{INK}" '
        'stroke-width="1.5"/>',
        *dots,
        "</g>",
    ]


def _bar(j: int, word: str, weight: float) -> list[str]:
    y, colour = BARS + LINE * j, COLOURS["source"]
    text = TEXT_COLOURS["source"]
    return [
        f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end" fill="{text}">{word}'
        "</text>",
        f'<g class="book-bar"><rect x="{LEFT}" y="{y}" width="{UNIT * weight:.1f}" '
        f'height="{LINE - 5}" fill="{colour}"/>'
        f'<text x="{LEFT + UNIT * weight + 6:.1f}" y="{y + 14}">{weight:.2f}</text>'
        "</g>",
    ]
