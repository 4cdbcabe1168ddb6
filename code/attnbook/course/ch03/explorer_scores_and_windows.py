"""Chapter 3: scores and windows of attention, on the sentence worked by hand."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.course.kit.explorers.charts import Axis, Bars, Line, Series, numbers
from attnbook.course.kit.explorers.controls import Menu, Slider
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View
from attnbook.nn.local_attention import gaussian, source_window
from attnbook.nn.masks import masked_softmax
from attnbook.toy.example import QUERY, SENTENCE, STATES, U, V, W

S = len(SENTENCE)
OTHER_SIDE = torch.tensor([1.0, 1.0, 1.0, -1.0])
VERB = torch.tensor([0.0, 0.0, 2.0, 0.0])
QUERIES = {
    "the subject's noun": QUERY,
    "the object's noun": QUERY * OTHER_SIDE,
    "the verb": VERB,
}
SCORES = {
    "dot": lambda s: STATES @ s,
    "general": lambda s: STATES @ (OTHER_SIDE * s),
    "concat": lambda s: torch.tanh(W @ s + STATES @ U.T) @ V,
    "dot / √width (chapter 4)": lambda s: STATES @ s / math.sqrt(len(s)),
}
WINDOWS = ("none (global)", "local-m", "local-p")
CONTROLS = {
    "query": Menu("the state looks for", tuple(QUERIES), "the subject's noun"),
    "score": Menu("score", tuple(SCORES), "dot"),
    "window": Menu("window", WINDOWS, "local-p"),
    "centre": Slider("centre of the window", 1, S, 4, step=0.5),
    "half_width": Slider("half-width D", 1, S - 1, 2),
}


class Weighed(NamedTuple):
    """What one setting leads to."""

    scores: Tensor  # (S,)
    inside: Tensor  # (S,), bool
    factor: Tensor  # (S,) of the Gaussian; 1 without one
    weights: Tensor  # (S,)


def explore_scores() -> object:
    """Let the reader choose a score and a window; see :func:`~.explorer.explore`."""
    return explore(score_view, CONTROLS)


def score_view(
    query: str, score: str, window: str, centre: float, half_width: int
) -> View:
    """Scores and weights of one setting."""
    if window == "local-m":
        centre = int(centre)
    found = weigh(query, score, window, centre, half_width)
    best = int(found.weights.argmax())
    said = (
        f"Largest weight: {SENTENCE[best]}, {found.weights[best]:.2f}. "
        f"The weights sum to {found.weights.sum():.2f}."
    )
    if not found.inside.all():
        out = [
            w for w, inside in zip(SENTENCE, found.inside, strict=True) if not inside
        ]
        quoted = ", ".join(f"“{word}”" for word in out)
        said += f" Outside the window: {quoted}."
    words = zip(SENTENCE, found.scores.tolist(), found.weights.tolist(), strict=True)
    alt = "; ".join(f"{word}: score {e:.2f}, weight {a:.2f}" for word, e, a in words)
    drawn = (centre, half_width) if window != WINDOWS[0] else None
    return View(said, _charts(found, drawn, window == "local-p"), f"{alt}.")


on_page = score_view


def weigh(
    query: str, score: str, window: str, centre: float, half_width: int
) -> Weighed:
    """Compute what :func:`score_view` shows; the arguments are the same."""
    scores = SCORES[score](QUERIES[query])  # (S,)
    everywhere = torch.ones(1, S, dtype=torch.bool)
    inside, factor = everywhere[0], torch.ones(S)
    p = torch.tensor([[centre - 1.0]])  # (B, T) = (1, 1); code counts from 0
    if window != WINDOWS[0]:
        inside = source_window(p, everywhere, half_width)[0, 0]  # (S,)
    if window == "local-p":
        factor = gaussian(p, S, sigma=half_width / 2)[0, 0]  # (S,)
    return Weighed(scores, inside, factor, masked_softmax(scores, inside) * factor)


def _charts(
    found: Weighed, window: tuple[float, int] | None, curve: bool
) -> tuple[Bars, Bars]:
    """Scores above weights; the window behind both."""
    band = line = None
    if window:
        positions = found.inside.nonzero().squeeze(-1)
        band = positions.min().item() - 0.5, positions.max().item() + 0.5
    if curve and window:
        x = torch.linspace(-0.5, S - 0.5, 49)
        y = torch.exp(-((x + 1 - window[0]) ** 2) / (2 * (window[1] / 2) ** 2))
        line = Line(numbers(y.tolist()), numbers(x.tolist()))
    values = found.scores.tolist()
    low, high = min(0.0, *values), max(0.5, *values)
    room = 0.25 * (high - low)
    ends = numbers([low - (low < 0) * room, high + room])
    ticks = tuple(t for t in (-4, -2, 0, 2, 4) if ends[0] <= t <= ends[1])
    words = {"role": "source", "band": band}
    top = Bars(
        SENTENCE,
        Axis("score", *ends, ticks, tuple(_signed(t, 0) for t in ticks)),
        (Series(numbers(values)),),
        notes=tuple(_signed(value, 1) for value in values),
        height=170,
        **words,
    )
    weights = found.weights.tolist()
    bottom = Bars(
        tuple(f"{word}\n{j}" for j, word in enumerate(SENTENCE, start=1)),
        Axis("weight", 0, 1.2, (0, 0.5, 1)),
        (Series(numbers(weights)),),
        notes=tuple(f"{weight:.2f}" for weight in weights),
        curve=line,
        label="source position",
        height=240,
        **words,
    )
    return top, bottom


def _signed(value: float, digits: int) -> str:
    """A number with a real minus, and none before a zero."""
    return f"{value:z.{digits}f}".replace("-", "−")
