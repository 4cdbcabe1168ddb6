"""Training as a film: the map of one sentence from the first update to the last.

What is shown is stored (``attention_film``). The last picture is drawn here; every
other one in the page, by ``widget_film.js``, which a test holds against this module.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from IPython.display import HTML

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY, INK, TEXT_COLOURS
from attnbook.course.kit.widgets.controls import (
    BUTTON,
    KEYS,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.course.kit.widgets.pictures import live_picture, svg
from attnbook.course.kit.widgets.scripts import on_load
from attnbook.course.kit.widgets.tables import LACK, blue
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import AND, AND_TARGET, KINDS
from attnbook.toy.training import STEPS

CAPTION = (
    "Press *Play*, or move the slider. Look for the step at which the frames begin to "
    "fill, and for what happens near step 150."
)

SHADES = ascii_lowercase + ascii_uppercase + digits
"""A letter for each weight from 0 to 1, in equal steps: so the film is stored."""

# Pixels
WIDTH, LEFT, RIGHT, TOP, ROW = 460, 68, 432, 82, 20
CURVE, HIGH = 96, 4.0  # height of the loss curve, and the loss at its top


class Frame(NamedTuple):
    """One picture."""

    step: int
    loss: float
    alignment: float
    output: str
    weights: list[list[float]]  # (T, S)


PAIR = held_out_pairs(2, 1)[0]
TARGET_SIDE, SOURCE_SIDE = (*PAIR.target, "<eos>"), (*PAIR.source, "<eos>")
COLUMN = (RIGHT - LEFT) / len(SOURCE_SIDE)
BOTTOM = TOP + ROW * len(TARGET_SIDE) + 34  # where the loss curve begins
HEIGHT = BOTTOM + CURVE + 40


@lru_cache(maxsize=1)
def frames() -> list[Frame]:
    """All pictures, in order."""
    made = []
    for frame in results.load("attention_film")["frames"]:
        weights = [SHADES.index(x) / (len(SHADES) - 1) for x in frame["weights"]]
        width = len(SOURCE_SIDE)
        rows = [weights[i : i + width] for i in range(0, len(weights), width)]
        about = (frame[name] for name in ("step", "loss", "alignment", "output"))
        made.append(Frame(*about, rows))
    return made


def film(caption: str = CAPTION) -> HTML:
    """Let the reader play the training, or stop it anywhere."""
    stored = results.load("attention_film")["frames"]
    last = frames()[-1]
    given = {
        "every": stored[1]["step"],
        "shades": SHADES,
        "lack": LACK,
        "weights": [frame["weights"] for frame in stored],
        "losses": [frame["loss"] for frame in stored],
        "alignments": [round(100 * frame["alignment"]) for frame in stored],
        "outputs": [frame["output"] for frame in stored],
        "gloss": gloss_table(),
        "left": LEFT,
        "across": RIGHT - LEFT,
        "bottom": BOTTOM,
        "curve": CURVE,
        "high": HIGH,
    }
    said = result(last)
    first = live_picture(
        picture(last),
        said,
        escape(said),
        width=WIDTH,
        script=on_load("widget_film", **given),
        look="; white-space: pre-line; min-height: 9em",
    )
    play = (
        f'<button {KEYS} type="button" class="book-play" '
        f'style="{BUTTON}; padding: 0 0.8em; margin-bottom: 0.6em">Play</button>'
    )
    end = len(stored) - 1
    row = slider_row(
        "Training step", "Training step", low=0, value=end, high=end, text=f"{STEPS}"
    )
    return figure(f"{hidden_controls(row + play)}\n{first}", caption, width=WIDTH)


def gloss_table() -> dict[str, str]:
    """Each word of the toy target language in English."""
    found = {AND_TARGET: AND}
    for kind, words in KINDS.items():
        endings = ("",) if kind in ("noun", "verb") else ("n", "s")
        found |= {word + e: english for english, word in words.items() for e in endings}
    return found


def gloss(output: str) -> str:
    """A toy sentence word by word in English."""
    table = gloss_table()
    return " ".join(table[word] for word in output.split())


def result(frame: Frame) -> str:
    """What the run has reached, and what it makes of the sentence."""
    output = frame.output or "nothing"
    english = f"\nWord by word: {gloss(frame.output)}" if frame.output else ""
    return (
        f"Step {frame.step}: loss {frame.loss:.2f} nats; largest weight on the aligned "
        f"word: {100 * frame.alignment:.0f} % of the words.\n"
        f"Output: {output}{english}"
    )


def picture(frame: Frame) -> str:
    """Draw a frame as SVG: the map, and below it the loss up to this step."""
    return svg(
        WIDTH,
        HEIGHT,
        result(frame).replace("\n", " "),
        [*_names(), *_cells(frame), *_frames(), *_curve(frame)],
    )


def _names() -> list[str]:
    columns = [
        f'<text transform="translate({LEFT + COLUMN * (j + 0.7):.1f},{TOP - 6}) '
        f'rotate(-60)" fill="{TEXT_COLOURS["source"]}">{escape(word)}</text>'
        for j, word in enumerate(SOURCE_SIDE)
    ]
    rows = [
        f'<text x="{LEFT - 6}" y="{TOP + ROW * i + 15}" text-anchor="end" '
        f'fill="{TEXT_COLOURS["target"]}">{escape(word)}</text>'
        for i, word in enumerate(TARGET_SIDE)
    ]
    return columns + rows


def _box(i: int, j: int) -> str:
    return (
        f'x="{LEFT + COLUMN * j:.2f}" y="{TOP + ROW * i}" width="{COLUMN:.2f}" '
        f'height="{ROW}"'
    )


def _cells(frame: Frame) -> list[str]:
    return [
        f'<rect class="book-weight" {_box(i, j)} fill="{blue(w)}" stroke="#E3E6EA"/>'
        for i, row in enumerate(frame.weights)
        for j, w in enumerate(row)
    ]


def _frames() -> list[str]:
    """A frame around the aligned word of each row."""
    return [
        f'<rect {_box(i, j)} fill="none" stroke="{COLOURS["target"]}" '
        'stroke-width="2"/>'
        for i, j in enumerate(PAIR.alignment)
        if j is not None
    ]


def _point(step: float, loss: float) -> tuple[str, str]:
    across = LEFT + (RIGHT - LEFT) * step / STEPS
    return f"{across:.1f}", f"{BOTTOM + CURVE * (1 - loss / HIGH):.1f}"


def _curve(frame: Frame) -> list[str]:
    points = " ".join(",".join(_point(f.step, f.loss)) for f in frames())
    x, y = _point(frame.step, frame.loss)
    floor = BOTTOM + CURVE
    halt, _ = _point(results.load("halted_early")["halt"], 0)
    ticks = [
        f'<text x="{_point(step, 0)[0]}" y="{floor + 17}" text-anchor="middle">{step}'
        "</text>"
        for step in (0, 200, 400, 600)
    ]
    levels = [
        f'<text x="{LEFT - 6}" y="{float(_point(0, loss)[1]) + 5:.1f}" '
        f'text-anchor="end">{loss}</text>'
        for loss in (0, 2, 4)
    ]
    return [
        f'<path d="M{LEFT},{BOTTOM} V{floor} H{RIGHT}" fill="none" stroke="{INK}"/>',
        f'<path d="M{halt},{BOTTOM} V{floor}" stroke="{GREY}" stroke-dasharray="4 4"/>',
        f'<polyline points="{points}" fill="none" stroke="{INK}"/>',
        f'<circle class="book-now" cx="{x}" cy="{y}" r="6" '
        f'fill="{COLOURS["target"]}" stroke="#FFF"/>',
        *ticks,
        *levels,
        f'<text x="{RIGHT}" y="{BOTTOM + 14}" text-anchor="end">loss, nats per token'
        "</text>",
        f'<text x="{(LEFT + RIGHT) / 2}" y="{floor + 36}" text-anchor="middle">'
        "training step</text>",
    ]
