"""The explorer of chapter 3 computes what the formulas say."""

import math
from itertools import product

import pytest
import torch

from attnbook.course.ch03.explorer_scores_and_windows import (
    QUERIES,
    SCORES,
    WINDOWS,
    explore_scores,
    score_view,
    weigh,
)
from attnbook.toy.example import STATES, U, V, W

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def by_loop(score, s, h):
    """One score of chapter 3, from its formula, with sums over components."""
    if score == "concat":
        hidden = [
            math.tanh(sum(w * x for w, x in zip(row, s + h, strict=True)))
            for row in torch.cat([W, U], 1).tolist()
        ]
        return sum(v * x for v, x in zip(V.tolist(), hidden, strict=True))
    signs = (1, 1, 1, -1) if score == "general" else (1, 1, 1, 1)
    dot = sum(a * sign * b for a, sign, b in zip(s, signs, h, strict=True))
    return dot / 2 if score.startswith("dot /") else dot


@pytest.mark.parametrize(("centre", "half_width"), [(1, 1), (4, 2), (5, 5), (6, 1)])
@pytest.mark.parametrize("window", WINDOWS)
def test_weights_are_those_of_equations_7_and_10(window, centre, half_width):
    sigma = half_width / 2 if window == "local-p" else math.inf
    near = [
        j for j in range(6) if "none" in window or abs(j + 1 - centre) <= half_width
    ]
    for query, score in product(QUERIES, SCORES):
        e = [by_loop(score, QUERIES[query].tolist(), h) for h in STATES.tolist()]
        total = sum(math.exp(e[j]) for j in near)
        wanted = [
            math.exp(e[j]) / total * math.exp(-((j + 1 - centre) ** 2) / (2 * sigma**2))
            if j in near
            else 0
            for j in range(6)
        ]
        found = weigh(query, score, window, centre, half_width)
        assert found.scores.tolist() == pytest.approx(e, abs=1e-6)
        assert found.weights.tolist() == pytest.approx(wanted, abs=1e-6)


def test_the_words_say_what_the_figure_shows():
    view = score_view("the subject's noun", "dot", "local-m", 3.5, 1)
    assert view.said == (
        "Largest weight: farmer, 0.81. The weights sum to 1.00. "
        "Outside the window: “the”, “a”, “bird”."
    )
    assert "farmer: score 2.70" in view.alt
    assert "Outside" not in score_view("the verb", "dot", WINDOWS[0], 1, 1).said
    found = weigh("the subject's noun", "dot", "local-m", 3, 1)
    scores, weights = view.drawn
    assert scores.series[0].values == pytest.approx(found.scores.tolist(), abs=1e-3)
    assert weights.series[0].values == pytest.approx(found.weights.tolist(), abs=1e-3)
    assert weights.band == (0.5, 3.5)
    for window in WINDOWS:  # the Gaussian is drawn for local-p alone
        curve = score_view("the verb", "dot", window, 3, 2).drawn[1].curve
        assert (curve is not None) == (window == "local-p")
    assert dict(zip(curve.x, curve.y, strict=True))[2.0] == 1  # at its centre


def test_every_control_changes_the_picture(monkeypatch):
    monkeypatch.delenv("ATTNBOOK_STILL", raising=False)
    *controls, _, picture = explore_scores().children
    start = picture.value
    for control, value in zip(
        controls, ("the verb", "concat", "local-m", 1.5, 1), strict=True
    ):
        before = control.value
        control.value = value
        assert picture.value != start
        control.value = before
        assert picture.value == start
