"""Chapter 2: training as a film, the map of one sentence every five updates."""

from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from attnbook.core import results
from attnbook.course.kit.explorers.charts import Axis, Line, Lines, Map, Point
from attnbook.course.kit.explorers.controls import Slider
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.glosses import gloss
from attnbook.toy.data import held_out_pairs
from attnbook.toy.training import STEPS

CAPTION = (
    "Press *Play*, or move the slider. Look for the step at which the frames begin to "
    "fill."
)
SHADES = ascii_lowercase + ascii_uppercase + digits
"""A letter for each weight from 0 to 1, in equal steps: so the film is stored."""

EVERY = 5  # updates between two pictures
CONTROLS = {"step": Slider("training step", 0, STEPS, STEPS, step=EVERY, play=True)}
PAIR = held_out_pairs(2, 1)[0]
TARGET_SIDE, SOURCE_SIDE = (*PAIR.target, "<eos>"), (*PAIR.source, "<eos>")
FRAMES = tuple((i, j) for i, j in enumerate(PAIR.alignment) if j is not None)


class Frame(NamedTuple):
    """One picture."""

    loss: float
    alignment: float
    output: str
    weights: tuple[tuple[float, ...], ...]  # (T, S)


def film_view(step: int) -> View:
    """The weights at a step of the training, and where it is on the loss curve."""
    frame = frames()[step]
    said = (
        f"Step {step}: loss {frame.loss:.2f} nats; largest weight on the aligned "
        f"word: {100 * frame.alignment:.0f} % of the words.\nOutput: {frame.output}\n"
        f"Word by word: {gloss(frame.output.split())}"
    )
    largest = "; ".join(
        f"{word}: {SOURCE_SIDE[row.index(max(row))]}, {max(row):.2f}"
        for word, row in zip(TARGET_SIDE, frame.weights, strict=True)
    )
    labels = ("target word", "source word")
    roles = ("target", "source")
    weights = Map(TARGET_SIDE, SOURCE_SIDE, frame.weights, roles, labels, FRAMES)
    return View(said, (weights, _curve(step)), f"Largest weights: {largest}.")


explore_film = Explorer(film_view, CONTROLS, caption=CAPTION)


@lru_cache(maxsize=1)
def frames() -> dict[int, Frame]:
    """All pictures, by their steps."""
    made, width = {}, len(SOURCE_SIDE)
    for stored in results.load("attention_film")["frames"]:
        shades = stored["weights"]
        cells = [round(SHADES.index(x) / (len(SHADES) - 1), 2) for x in shades]
        rows = (tuple(cells[i : i + width]) for i in range(0, len(cells), width))
        about = (stored[name] for name in ("loss", "alignment", "output"))
        made[stored["step"]] = Frame(*about, tuple(rows))
    return made


def _curve(step: int) -> Lines:
    """The loss of the whole training, with a dot at the step."""
    losses = tuple(frame.loss for frame in frames().values())
    steps = (0, results.load("halted_early")["halt"], 200, 400, 600)
    ticks = tuple(tick // EVERY for tick in steps)
    return Lines(
        Axis("training step", 0, len(losses) - 1, ticks, tuple(map(str, steps))),
        Axis("", 0, 4, (0, 2, 4)),
        (Line(losses),),
        height=180,
        title="loss, nats per token",
        points=(Point(step // EVERY, frames()[step].loss, colour="target"),),
    )
