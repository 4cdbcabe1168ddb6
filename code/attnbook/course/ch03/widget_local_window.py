"""Local attention to play with: the reader moves the window, the weights follow.

The first state is drawn here, with the package's own functions. Every other one is
computed in the page by ``local_window.js``, which a test holds against the package.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from IPython.display import HTML
from torch import Tensor

from attnbook.course.kit.colours import COLOURS, INK, TEXT_COLOURS, tint
from attnbook.course.kit.drawings.diagram import SIZE
from attnbook.course.kit.drawings.labels import tspans
from attnbook.course.kit.widgets.controls import (
    choice,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.course.kit.widgets.pictures import live_picture, svg
from attnbook.course.kit.widgets.scripts import on_load
from attnbook.nn.local_attention import gaussian, source_window
from attnbook.nn.masks import masked_softmax

SCORES = (0.2, 1.1, -0.5, 0.8, 2.0, 0.3, -1.0, 1.6, 0.4, -0.3, 1.2, 0.0)
"""How well each of twelve source positions fits; chosen by hand."""
WIDEST = 5  # the largest half-width
CAPTION = (
    "**The Gaussian only takes away, so the weights sum to less than 1.** Twelve "
    "source positions, counted from 0, with fixed scores; position 4 fits best. The "
    "softmax divides 1 among the positions in the window (shaded). The Gaussian then "
    "takes from each position, the more the farther it lies from the centre, and what "
    "it takes is lost."
)

# Pixels. A row has a title, room for numbers, and UNIT pixels for a weight of 1.
PLACE, MARGIN, TOP, ROOM, UNIT, GAP = 41, 4, 20, 42, 76, 8
WIDTH = 2 * MARGIN + PLACE * len(SCORES)
ROWS = [TOP + ROOM + k * (ROOM + UNIT + GAP) for k in range(3)]  # where a 1 is drawn
BOTTOM = ROWS[-1] + UNIT
HEIGHT = BOTTOM + 46


class WindowState(NamedTuple):
    """What the reader chooses."""

    p: float  # the centre p_t
    half_width: int  # D
    bell: bool  # with the Gaussian

    @property
    def sigma(self) -> float:
        """Standard deviation of the Gaussian; infinite, it is 1 everywhere."""
        return self.half_width / 2 if self.bell else float("inf")


START = WindowState(5.3, 2, True)


def local_window(caption: str = CAPTION) -> HTML:
    """Let the reader move the window of local attention and see the weights follow.

    Luong et al. 2015, section 3.2: with the Gaussian it is local-p; without it, and the
    centre at a whole position, local-m.
    """
    said, weights = result(START)
    script = on_load(
        "widget_local_window",
        scores=SCORES,
        place=PLACE,
        margin=MARGIN,
        unit=UNIT,
        width=WIDTH,
    )
    alt = f"{said} {weights}"
    first = live_picture(picture(START), alt, said, width=WIDTH, script=script)
    return figure(f"{_controls(START)}\n{first}", caption, width=WIDTH)


def weigh(state: WindowState) -> tuple[Tensor, Tensor, Tensor]:
    """Softmax over the window, Gaussian, their product; each (S,), float64."""
    scores = torch.tensor(SCORES, dtype=torch.float64)
    centre = torch.tensor([[state.p]], dtype=torch.float64)  # (B, T) = (1, 1)
    real = torch.ones(1, len(SCORES), dtype=torch.bool)
    near = source_window(centre, real, state.half_width)[0, 0]  # (S,)
    soft = masked_softmax(scores, near)
    factor = gaussian(centre, len(SCORES), state.sigma)[0, 0]  # (S,)
    return soft, factor, soft * factor


def result(state: WindowState) -> tuple[str, str]:
    """What the window holds and what the weights sum to; and the weights."""
    *_, weights = weigh(state)
    positions = _positions(state)
    shares = ", ".join(f"{weights[s]:.2f}" for s in positions)
    return (
        f"{len(positions)} positions, {positions[0]} to {positions[-1]}, lie within "
        f"{state.half_width} of {state.p:.1f}. "
        f"Their weights sum to {weights.sum():.2f}.",
        f"They are {shares}.",
    )


def picture(state: WindowState) -> str:
    """Draw a state as SVG: the softmax, the Gaussian, and below them their product."""
    soft, factor, weights = weigh(state)
    pale, strong = tint(COLOURS["source"]), COLOURS["source"]
    bell = f"× Gaussian, σ = D/2 = {state.sigma:.1f}"
    marks = [
        *_window(state),
        *_row(0, soft, state, pale, strong),
        *_titles(0, "softmax over the window", "sum 1.00"),
        *_curve(state),
        *_row(1, factor, state, tint(COLOURS["target"]), COLOURS["target"]),
        *_titles(1, bell if state.bell else "× 1 (no Gaussian)", ""),
        *_row(2, weights, state, strong, strong),
        *_titles(2, "= weights", f"sum {weights.sum():.2f}"),
        *_axis(),
    ]
    return svg(WIDTH, HEIGHT, " ".join(result(state)), marks)


def _x(place: float) -> float:
    return MARGIN + PLACE * (place + 0.5)


def _down(weight: float) -> float:
    return UNIT * (1 - weight)


def _positions(state: WindowState) -> list[int]:
    """The positions in the window: those that the softmax gives anything."""
    return weigh(state)[0].nonzero().flatten().tolist()


def _window(state: WindowState) -> list[str]:
    """The window, shaded, and its centre: a dashed line with its name above."""
    left = max(_x(state.p - state.half_width), 0)
    right = min(_x(state.p + state.half_width), WIDTH)
    x, colour = f"{_x(state.p):.1f}", COLOURS["target"]
    return [
        f'<rect class="book-band" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
        f'height="{BOTTOM - TOP}" fill="{tint(colour)}"/>',
        f'<line class="book-centre" x1="{x}" x2="{x}" y1="{TOP}" y2="{BOTTOM}" '
        f'stroke="{colour}" stroke-width="1.5" stroke-dasharray="5 4"/>',
        f'<text class="book-mark" x="{x}" y="15" text-anchor="middle" '
        f'fill="{TEXT_COLOURS["target"]}">{tspans("$p_t$", SIZE)}</text>',
    ]


def _row(
    number: int, values: Tensor, state: WindowState, fill: str, line: str
) -> list[str]:
    """Bars with their numbers at the positions in the window, and the axis below."""
    inside = _positions(state)
    heights = [w if s in inside else 0.0 for s, w in enumerate(values.tolist())]
    numbers = [f"{w:.2f}" if s in inside else "" for s, w in enumerate(heights)]
    halo = f'stroke="{tint(COLOURS["target"])}" stroke-width="3" paint-order="stroke"'
    bars = [
        f'<g><rect x="{_x(s) - 14:.1f}" y="{_down(w):.1f}" width="28" '
        f'height="{UNIT * w:.1f}" fill="{fill}" stroke="{line}"/>'
        f'<text x="{_x(s):.1f}" y="{_down(w) - 5:.1f}" text-anchor="middle" {halo}>'
        f"{numbers[s]}</text></g>"
        for s, w in enumerate(heights)
    ]
    return [
        f'<g class="book-row" transform="translate(0,{ROWS[number]})">',
        *bars,
        f'<path d="M0,{UNIT} H{WIDTH}" stroke="{INK}"/></g>',
    ]


def _titles(number: int, title: str, total: str) -> list[str]:
    """Title of a row at the left, what it sums to at the right."""
    y = ROWS[number] - ROOM + SIZE + 2
    return [
        f'<text class="book-title" x="8" y="{y}">{title}</text>',
        f'<text class="book-total" x="{WIDTH - 8}" y="{y}" text-anchor="end">'
        f"{total}</text>",
    ]


def _curve(state: WindowState) -> list[str]:
    """The Gaussian at every tenth of a position, by counting in tenths throughout."""
    centre = torch.tensor([[10 * state.p]], dtype=torch.float64)
    values = gaussian(centre, 10 * len(SCORES) - 9, 10 * state.sigma)[0, 0].tolist()
    points = (f"{_x(i / 10):.1f},{_down(w):.1f}" for i, w in enumerate(values))
    return [
        f'<polyline class="book-bell" transform="translate(0,{ROWS[1]})" '
        f'points="{" ".join(points)}" fill="none" '
        f'stroke="{COLOURS["target"]}" stroke-width="2"/>'
    ]


def _axis() -> list[str]:
    numbers = [
        f'<text x="{_x(s):.1f}" y="{BOTTOM + 18}" text-anchor="middle">{s}</text>'
        for s in range(len(SCORES))
    ]
    return [
        *numbers,
        f'<text x="{WIDTH / 2}" y="{BOTTOM + 39}" text-anchor="middle">'
        "source position</text>",
    ]


def _controls(state: WindowState) -> str:
    """Sliders for the centre, in tenths, and the half-width; a box for the Gaussian."""
    rows = [
        slider_row(
            "Centre <i>p<sub>t</sub></i>",
            "Centre",
            low=0,
            value=round(10 * state.p),
            high=10 * (len(SCORES) - 1),
            text=f"{state.p:.1f}",
        ),
        slider_row(
            "Half-width <i>D</i>",
            "Half-width",
            low=1,
            value=state.half_width,
            high=WIDEST,
            text=f"{state.half_width}",
        ),
    ]
    bell = choice("checkbox", "Gaussian around the centre", chosen=state.bell)
    below = f'<div style="margin-bottom: 0.6em">{bell}</div>'
    return hidden_controls("".join(rows) + below)
