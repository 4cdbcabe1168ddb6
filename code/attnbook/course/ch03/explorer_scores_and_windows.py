"""Chapter 3: scores and windows of attention, on the sentence worked by hand."""

from __future__ import annotations

import math
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.course.kit.colours import COLOURS, INK, SHADE, TEXT_COLOURS
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
CAPTION = (
    "**A window decides which positions compete; the score decides among them.** "
    "Above: the score of each source position. Below: its weight. Shaded: the window; "
    "line: the Gaussian of local-p, by which the softmax weights are multiplied. "
    "*General* has the matrix of this chapter, diag(1, 1, 1, −1); *concat* has the "
    "matrices of chapter 2."
)


class Weighed(NamedTuple):
    """What one setting leads to."""

    scores: Tensor  # (S,)
    inside: Tensor  # (S,), bool
    factor: Tensor  # (S,) of the Gaussian; 1 without one
    weights: Tensor  # (S,)


def explore_scores() -> object:
    """Let the reader choose a score and a window; see :func:`~.explorer.explore`."""
    return explore(score_view, CONTROLS, caption=CAPTION)


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
        said += f" Outside the window: {', '.join(out)}."
    words = zip(SENTENCE, found.scores.tolist(), found.weights.tolist(), strict=True)
    alt = "; ".join(f"{word}: score {e:.2f}, weight {a:.2f}" for word, e, a in words)
    drawn = (centre, half_width) if window != WINDOWS[0] else None
    return View(said, _figure(found, drawn, window == "local-p"), f"{alt}.")


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


def _figure(found: Weighed, window: tuple[float, int] | None, curve: bool) -> Figure:
    """Scores above weights; the window behind both."""
    fig, (top, bottom) = plt.subplots(
        2, sharex=True, figsize=(5.5, 3.9), height_ratios=(1, 1.3)
    )
    for ax, values, form in (
        (top, found.scores, ".1f"),
        (bottom, found.weights, ".2f"),
    ):
        _bars(ax, values.tolist(), form)
        if window:
            positions = found.inside.nonzero().squeeze(-1)
            ends = positions.min().item() - 0.5, positions.max().item() + 0.5
            ax.axvspan(*ends, color=SHADE, lw=0, zorder=0)
    if curve and window:
        x = torch.linspace(-0.5, S - 0.5, 121)
        y = torch.exp(-((x + 1 - window[0]) ** 2) / (2 * (window[1] / 2) ** 2))
        bottom.plot(x, y, color=INK, linewidth=1.5)
    values = found.scores.tolist()
    low, high = min(0.0, *values), max(0.5, *values)
    room = 0.25 * (high - low)
    top.set(ylabel="score", ylim=(low - (low < 0) * room, high + room))
    bottom.set(ylabel="weight", ylim=(0, 1.2), yticks=(0, 0.5, 1))
    names = [f"{word}\n{j}" for j, word in enumerate(SENTENCE, start=1)]
    bottom.set_xticks(range(S), names, color=TEXT_COLOURS["source"])
    bottom.set_xlabel("source position", color=TEXT_COLOURS["source"])
    return fig


def _bars(ax: Axes, values: list[float], form: str) -> None:
    """One bar for each source position, with its number."""
    ax.bar(range(S), values, color=COLOURS["source"], width=0.6, zorder=2)
    ax.axhline(0, color=INK, linewidth=1)
    for j, value in enumerate(values):
        below = value < 0
        ax.annotate(
            f"{value:{form}}".replace("-", "−"),
            (j, value),
            xytext=(0, -3 if below else 3),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
            size=11,
            bbox={"boxstyle": "square,pad=0.1", "fc": (1, 1, 1, 0.7), "lw": 0},
        )
