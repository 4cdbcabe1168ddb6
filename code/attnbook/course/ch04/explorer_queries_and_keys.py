"""Chapter 4: a query and four keys in the plane, their dot products and weights."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.course.ch04.figures import PLANE_KEYS, draw_arrow
from attnbook.course.kit.colours import COLOURS, PALE_GREY, TEXT_COLOURS
from attnbook.course.kit.explorers.controls import Slider, Switch
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View

KEYS = torch.tensor(PLANE_KEYS)  # (4, 2)
NAMES = ("k₁", "k₂", "k₃", "k₄")
LONGEST = 3.0  # of a query
CONTROLS = {
    "angle": Slider("direction, degrees", -180, 180, 0, step=5),
    "length": Slider("length", 0, LONGEST, 2, step=0.5),
    "scaled": Switch("divide the scores by √2", False),
}
CAPTION = (
    "**The direction of the query decides which weight is largest; a longer query "
    "makes it larger.** Left: the query and the four keys of the figure above. Right: "
    "their scores and weights."
)


def explore_queries() -> object:
    """Let the reader turn and stretch the query; see :func:`~.explorer.explore`."""
    return explore(query_view, CONTROLS, caption=CAPTION)


def query_view(angle: float, length: float, scaled: bool) -> View:
    """Scores and weights of the four keys for one query."""
    query, scores, weights = weigh(angle, length, scaled)
    best = int(weights.argmax())
    if length:
        said = f"Largest weight: {NAMES[best]}, {weights[best]:.2f}."
    else:
        said = "A query of length 0 gives all keys the same weight, 0.25."
    found = zip(NAMES, scores.tolist(), weights.tolist(), strict=True)
    alt = "; ".join(f"{k}: score {_number(e, 2)}, weight {a:.2f}" for k, e, a in found)
    return View(said, _figure(query, scores, weights), f"{alt}.")


def weigh(angle: float, length: float, scaled: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The query, (2,), the scores, (4,), and the weights, (4,), of one setting."""
    radians = math.radians(angle)
    query = length * torch.tensor([math.cos(radians), math.sin(radians)])  # (2,)
    scores = KEYS @ query / (math.sqrt(2) if scaled else 1)  # (4, 2) @ (2,) → (4,)
    return query, scores, scores.softmax(0)


def _number(value: float, digits: int) -> str:
    """A number without a minus before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def _figure(query: Tensor, scores: Tensor, weights: Tensor) -> Figure:
    """The arrows at the left, a bar for each weight at the right."""
    fig, (plane, bars) = plt.subplots(1, 2, figsize=(5.5, 2.9), width_ratios=(1.25, 1))
    edge = 1.25 * LONGEST
    plane.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
    plane.set(xticks=range(-3, 4), yticks=range(-3, 4))
    for line in (plane.axhline, plane.axvline):
        line(0, color=PALE_GREY, linewidth=1, zorder=0)
    for j, tip in enumerate(KEYS.tolist(), start=1):
        draw_arrow(plane, tip, "key", f"$k_{j}$", 0.5)
    if query.any():
        draw_arrow(plane, query.tolist(), "query", "$q$", 0.45)
    _bars(bars, scores.tolist(), weights.tolist())
    return fig


def _bars(ax: Axes, scores: list[float], weights: list[float]) -> None:
    """A row for each key, the first on top: its score, and its weight as a bar."""
    rows = range(len(scores))
    ax.barh(rows, weights, color=COLOURS["key"], height=0.5)
    for j, weight in enumerate(weights):
        ax.text(weight + 0.03, j, f"{weight:.2f}", va="center")
    names = [f"$k_{j + 1}$:  {_number(scores[j], 1)}" for j in rows]
    ax.set_yticks(rows, names, color=TEXT_COLOURS["key"])
    ax.set(xlim=(0, 1.3), xticks=(0, 0.5, 1))
    ax.invert_yaxis()
    ax.set_title("weight")
    head = {"transform": ax.transAxes, "ha": "right", "color": TEXT_COLOURS["key"]}
    ax.text(-0.05, 1.03, "score", **head)
