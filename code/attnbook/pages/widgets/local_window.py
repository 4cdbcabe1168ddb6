"""Local attention to play with: the reader moves the window, the weights follow.

The first state is drawn here, with the package's own functions. Every other one is
computed in the page by :data:`MOVED`, which a test holds against the package, and how
that works on every front end is told in :mod:`.steppers`. One thing is
added: from a notebook that it has not run itself, JupyterLab removes inline SVG too. So
the first state is there as an image as well, until scripts run.
"""

from __future__ import annotations

import base64
from typing import NamedTuple

import torch
from IPython.display import HTML
from torch import Tensor

from attnbook.nn.local_attention import gaussian, window
from attnbook.nn.masks import masked_softmax
from attnbook.pages.drawings.diagram import FONT, SIZE
from attnbook.pages.drawings.labels import tspans
from attnbook.pages.drawings.shapes import tint
from attnbook.pages.style import COLOURS, INK, TEXT_COLOURS
from attnbook.pages.widgets.steppers import (
    HIDDEN,
    KEYS,
    ROW,
    claim,
    handler,
    slider_row,
)

SCORES = (0.2, 1.1, -0.5, 0.8, 2.0, 0.3, -1.0, 1.6, 0.4, -0.3, 1.2, 0.0)
"""How well each of twelve source places fits; chosen by hand."""
WIDEST = 5  # the largest half-width
CAPTION = (
    "**The Gaussian only takes away, so the weights sum to less than 1.** Twelve "
    "source places, counted from 0, with fixed scores; place 4 fits best. The softmax "
    "divides 1 among the places in the window (shaded). The Gaussian then takes from "
    "each place, the more the farther it lies from the centre, and what it takes is "
    "lost."
)

# Pixels. A row has a title, room for numbers, and UNIT pixels for a weight of 1.
PLACE, MARGIN, TOP, ROOM, UNIT, GAP = 41, 4, 20, 42, 76, 8
WIDTH = 2 * MARGIN + PLACE * len(SCORES)
ROWS = [TOP + ROOM + k * (ROOM + UNIT + GAP) for k in range(3)]  # where a 1 is drawn
BOTTOM = ROWS[-1] + UNIT
HEIGHT = BOTTOM + 46

# A control has moved: what `weigh` and `picture` do, in the page.
MOVED = (
    f"const scores = {[*SCORES]};"
    f"const [PLACE, MARGIN, UNIT, WIDTH] = {[PLACE, MARGIN, UNIT, WIDTH]};"
    """
const [slider, width, bell] = this.querySelectorAll('input');
const p = slider.value / 10, d = +width.value;
const near = scores.map((_, s) => Math.abs(s - p) <= d);
const raw = scores.map((e, s) => near[s] ? Math.exp(e) : 0);
const total = raw.reduce((a, b) => a + b);
const soft = raw.map(r => r / total);
const factor = s => bell.checked ? Math.exp(-((s - p) ** 2) / (2 * (d / 2) ** 2)) : 1;
const weights = soft.map((w, s) => w * factor(s));

const all = name => [...this.querySelectorAll('.book-' + name)];
const put = (e, given) => Object.entries(given).forEach(a => e.setAttribute(...a));
const x = s => MARGIN + PLACE * (s + 0.5), down = w => UNIT * (1 - w);
[soft, scores.map((_, s) => near[s] ? factor(s) : 0), weights].forEach((values, row) =>
  values.forEach((w, s) => {
    const [bar, number] = all('row')[row].children[s].children;
    put(bar, {y: down(w).toFixed(1), height: (UNIT * w).toFixed(1)});
    put(number, {y: (down(w) - 5).toFixed(1)});
    number.textContent = near[s] ? w.toFixed(2) : '';
  }));
const tenths = Array.from({length: 10 * scores.length - 9}, (_, i) => i / 10);
const points = tenths.map(s => `${x(s).toFixed(1)},${down(factor(s)).toFixed(1)}`);
put(all('bell')[0], {points: points.join(' ')});
const left = Math.max(x(p - d), 0), right = Math.min(x(p + d), WIDTH);
put(all('band')[0], {x: left.toFixed(1), width: (right - left).toFixed(1)});
const here = x(p).toFixed(1);
put(all('centre')[0], {x1: here, x2: here});
put(all('mark')[0], {x: here});

const sum = weights.reduce((a, b) => a + b).toFixed(2), at = p.toFixed(1);
const places = scores.map((_, s) => s).filter(s => near[s]);
const said = `${places.length} places, ${places[0]} to ${places.at(-1)}, lie `
  + `within ${d} of ${at}. Their weights sum to ${sum}.`;
all('title')[1].textContent = bell.checked
  ? `× Gaussian, σ = D/2 = ${(d / 2).toFixed(1)}` : '× 1 (no Gaussian)';
all('total')[2].textContent = `sum ${sum}`;
all('result')[0].textContent = said;
put(this.querySelector('svg'), {'aria-label': said + ' They are '
  + places.map(s => weights[s].toFixed(2)).join(', ') + '.'});

[[slider, at], [width, `${d}`]].forEach(([input, text]) => {
  put(input, {'aria-valuetext': text});
  const row = input.parentElement;
  row.parentElement.querySelector('output').textContent = text;
  row.querySelectorAll('button').forEach((button, end) => {
    const stop = input.value == (end ? input.max : input.min);
    put(button, {'aria-disabled': stop});
    button.style.opacity = stop ? 0.4 : 1;
  });
});
"""
)
# The image is there, so scripts run: what can move takes its place.
READY = """
const box = this.closest('.book-stepper');
box.querySelectorAll('.book-controls, .book-live').forEach(e => { e.hidden = false; });
this.hidden = true;
"""


class State(NamedTuple):
    """What the reader chooses."""

    p: float  # the centre p_t
    half_width: int  # D
    bell: bool  # with the Gaussian

    @property
    def sigma(self) -> float:
        """Standard deviation of the Gaussian; infinite, it is 1 everywhere."""
        return self.half_width / 2 if self.bell else float("inf")


START = State(5.3, 2, True)


def local_window(caption: str = CAPTION) -> HTML:
    """Let the reader move the window of local attention and see the weights follow.

    Luong et al. 2015, section 3.2: with the Gaussian it is local-p; without it, and the
    centre at a whole place, local-m.

    Args:
        caption: What is to be learned, as a claim; what stands between double asterisks
            is bold.

    Returns:
        The figure with its controls, which a notebook shows.
    """
    drawn, (said, weights) = picture(START), result(START)
    image = base64.b64encode(drawn.encode()).decode()
    return HTML(
        f'<figure class="book-stepper" style="margin: 1em 0; max-width: {WIDTH}px"'
        f"{handler('oninput', MOVED)}>\n{_controls(START)}\n"
        '<div class="book-frame">\n'
        f'<img src="data:image/svg+xml;base64,{image}" alt="{said} {weights}" '
        f'width="{WIDTH}" style="max-width: 100%; height: auto"'
        f"{handler('onload', READY)}>\n"
        f'<div class="book-live"{HIDDEN}>\n{drawn}\n</div>\n'
        '<p class="book-result" aria-live="polite" style="margin: 0.3em 0">'
        f"{said}</p>\n</div>\n"
        f"<figcaption>{claim(caption)}</figcaption>\n</figure>"
    )


def weigh(state: State) -> tuple[Tensor, Tensor, Tensor]:
    """Softmax over the window, Gaussian, their product; each (S,), float64."""
    scores = torch.tensor(SCORES, dtype=torch.float64)
    centre = torch.tensor([[state.p]], dtype=torch.float64)  # (B, T) = (1, 1)
    real = torch.ones(1, len(SCORES), dtype=torch.bool)
    near = window(centre, real, state.half_width)[0, 0]  # (S,)
    soft = masked_softmax(scores, near)
    factor = gaussian(centre, len(SCORES), state.sigma)[0, 0]  # (S,)
    return soft, factor, soft * factor


def result(state: State) -> tuple[str, str]:
    """What the window holds and what the weights sum to; and the weights."""
    *_, weights = weigh(state)
    places = _places(state)
    shares = ", ".join(f"{weights[s]:.2f}" for s in places)
    return (
        f"{len(places)} places, {places[0]} to {places[-1]}, lie within "
        f"{state.half_width} of {state.p:.1f}. "
        f"Their weights sum to {weights.sum():.2f}.",
        f"They are {shares}.",
    )


def picture(state: State) -> str:
    """Draw a state as SVG: the softmax, the Gaussian, and below them their product."""
    soft, factor, weights = weigh(state)
    pale, strong = tint(COLOURS["source"]), COLOURS["source"]
    bell = f"× Gaussian, σ = D/2 = {state.sigma:.1f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{" ".join(result(state))}" font-family="{FONT}" '
            f'font-size="{SIZE}" fill="{INK}" '
            'style="display: block; max-width: 100%; height: auto">',
            '<rect width="100%" height="100%" rx="6" fill="#FFF"/>',
            *_window(state),
            *_row(0, soft, state, pale, strong),
            *_titles(0, "softmax over the window", "sum 1.00"),
            *_curve(state),
            *_row(1, factor, state, tint(COLOURS["target"]), COLOURS["target"]),
            *_titles(1, bell if state.bell else "× 1 (no Gaussian)", ""),
            *_row(2, weights, state, strong, strong),
            *_titles(2, "= weights", f"sum {weights.sum():.2f}"),
            *_axis(),
            "</svg>",
        ]
    )


def _x(place: float) -> float:
    return MARGIN + PLACE * (place + 0.5)


def _down(weight: float) -> float:
    return UNIT * (1 - weight)


def _places(state: State) -> list[int]:
    """The places in the window: those that the softmax gives anything."""
    return weigh(state)[0].nonzero().flatten().tolist()


def _window(state: State) -> list[str]:
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


def _row(number: int, values: Tensor, state: State, fill: str, line: str) -> list[str]:
    """Bars with their numbers at the places in the window, and what they stand on."""
    inside = _places(state)
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


def _curve(state: State) -> list[str]:
    """The Gaussian at every tenth of a place, by counting in tenths throughout."""
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
        "source place</text>",
    ]


def _controls(state: State) -> str:
    """Sliders for the centre, in tenths, and the half-width; a box for the Gaussian."""
    box = (
        f'<label style="{ROW}; min-height: 24px; margin-bottom: 0.6em">'
        f'<input {KEYS} type="checkbox" checked="checked" autocomplete="off" '
        f'style="width: 24px; height: 24px; accent-color: {COLOURS["source"]}">'
        "<span>Gaussian around the centre</span></label>"
    )
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
    return f'<div class="book-controls"{HIDDEN}>{"".join(rows)}{box}</div>'
