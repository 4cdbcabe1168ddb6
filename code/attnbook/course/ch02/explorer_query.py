"""Chapter 2: the additive score, drawn; the query moves the words along the tanh."""

import torch
from torch import Tensor

from attnbook.course.kit.explorers.charts import (
    Axis,
    Bars,
    Line,
    Lines,
    Point,
    Series,
    numbers,
)
from attnbook.course.kit.explorers.controls import Slider, Switch
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import number
from attnbook.toy.example import QUERY, SENTENCE, STATES, U, V, W

CAPTION = (
    "Each panel is one hidden feature, and each dot on its curve is a word "
    "(*f*: *farmer*, *b*: *bird*). Move the slider from the subject's side to the "
    "object's, and watch which panel keeps the two nouns apart. Then take the tanh "
    "away, and slide again."
)
TITLES = ("1: noun?", "2: subject?", "3: object?")
NOUNS = {2: ("f", "source"), 5: ("b", "target")}  # their letters and colours
REACH, FINE = 7, 4  # how far a panel shows its axis both ways; points of a curve per 1
CONTROLS = {
    "side": Slider("the query's side", -1, 1, 1, step=0.1),
    "tanh": Switch("with the tanh", True),
}


def query_view(side: float, tanh: bool) -> View:
    """Where each word is on the three curves, and the weights that follow.

    Args:
        side: The query's last component: 1 the subject's side, −1 the object's.
        tanh: Whether there is one between the sum and v.
    """
    before, after, weights = weigh(side, tanh)
    curve = "With" if tanh else "Without"
    nouns = f"farmer gets {weights[2]:.2f} and bird {weights[5]:.2f}"
    panels = [_panel(k, tanh, before[:, k], after[:, k]) for k in range(len(TITLES))]
    shares = numbers(weights.tolist())
    bars = Bars(
        SENTENCE,
        Axis("weight", 0, 1, (0, 0.5, 1)),
        (Series(shares),),
        notes=tuple(f"{weight:.2f}" for weight in shares),
        role="source",
        height=200,
    )
    alt = "; ".join(
        f"{TITLES[k]} farmer {number(after[2, k])}, bird {number(after[5, k])}"
        for k in range(len(TITLES))
    )
    said = f"{curve} the tanh, {nouns}."
    return View(
        said, (*panels, bars), f"The two nouns on the curves: {alt}.", columns=3
    )


explore_query = Explorer(query_view, CONTROLS, caption=CAPTION)


def weigh(side: float, tanh: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Before the curve, (6, 3), after it, and the weights of the words, (6,)."""
    query = torch.tensor([*QUERY[:3].tolist(), side])
    before = W @ query + STATES @ U.T
    after = before.tanh() if tanh else before
    return before, after, (after @ V).softmax(0)


def _panel(k: int, tanh: bool, before: Tensor, after: Tensor) -> Lines:
    """The curve of a hidden feature with a dot for each word."""
    x = torch.linspace(-REACH, REACH, 2 * REACH * FINE + 1)
    most = 1 if tanh else REACH
    points = (
        Point(*numbers([FINE * (x + REACH), y]), *NOUNS.get(j, ("", "pale")))
        for j, (x, y) in enumerate(zip(before.tolist(), after.tolist(), strict=True))
    )
    ends = tuple(FINE * (x + REACH) for x in (-REACH, 0, REACH))
    return Lines(
        Axis("W s + U h", 0, ends[-1], ends, (f"−{REACH}", "0", f"{REACH}")),
        Axis(
            "", -1.2 * most, 1.2 * most, (-most, 0, most), (f"−{most}", "0", f"{most}")
        ),
        (Line(numbers((x.tanh() if tanh else x).tolist())),),
        height=160,
        title=TITLES[k],
        points=tuple(points),
    )
