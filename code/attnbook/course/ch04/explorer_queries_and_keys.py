"""Chapter 4: a query and four keys in the plane, their dot products and weights."""

import math

import torch
from torch import Tensor

from attnbook.course.ch04.figures import PLANE_KEYS
from attnbook.course.kit.explorers.charts import (
    Arrow,
    Arrows,
    Axis,
    Bars,
    Series,
    numbers,
)
from attnbook.course.kit.explorers.controls import Slider
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import number

KEYS = torch.tensor(PLANE_KEYS)  # (4, 2)
NAMES = ("k₁", "k₂", "k₃", "k₄")
LONGEST = 3.0  # of a query
CONTROLS = {
    "angle": Slider("direction, degrees", -180, 180, 0, step=5),
    "length": Slider("length", 0, LONGEST, 2, step=0.5),
}


def query_view(angle: float, length: float) -> View:
    """Scores and weights of the four keys for one query."""
    query, scores, weights = weigh(angle, length)
    best = int(weights.argmax())
    if length:
        said = f"Largest weight: {NAMES[best]}, {weights[best]:.2f}."
    else:
        said = "A query of length 0 gives all keys the same weight, 0.25."
    found = zip(NAMES, scores.tolist(), weights.tolist(), strict=True)
    alt = "; ".join(f"{k}: score {number(e)}, weight {a:.2f}" for k, e, a in found)
    return View(said, _charts(query, scores, weights), f"{alt}.", columns=2)


explore_queries = Explorer(query_view, CONTROLS)


def weigh(angle: float, length: float) -> tuple[Tensor, Tensor, Tensor]:
    """The query, (2,), the scores, (4,), and the weights, (4,), of one setting."""
    radians = math.radians(angle)
    query = length * torch.tensor([math.cos(radians), math.sin(radians)])  # (2,)
    scores = KEYS @ query  # (4, 2) @ (2,) → (4,)
    return query, scores, scores.softmax(0)


def _charts(query: Tensor, scores: Tensor, weights: Tensor) -> tuple[Arrows, Bars]:
    """The arrows at the left, a bar for each weight at the right."""
    keys = zip(NAMES, PLANE_KEYS, strict=True)
    arrows = [Arrow(name, *key, "key") for name, key in keys]
    if query.any():
        arrows.append(Arrow("q", *numbers(query.tolist()), "query"))
    found = zip(NAMES, scores.tolist(), strict=True)
    bars = Bars(
        tuple(f"{name}: {number(score, 1)}" for name, score in found),
        Axis("weight", 0, 1.3, (0, 0.5, 1)),
        (Series(numbers(weights.tolist()), "key"),),
        notes=tuple(f"{weight:.2f}" for weight in weights.tolist()),
        role="key",
        height=290,
        title="score, and weight",
    )
    return Arrows(1.25 * LONGEST, tuple(arrows)), bars
