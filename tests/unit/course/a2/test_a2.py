"""Figures, drawing and exercises of appendix A2."""

from itertools import product

import torch

from attnbook.course.a2 import figures as a2
from attnbook.course.a2.explorer_learning_rate import (
    BLOCKS,
    RATES,
    learning_rate_view,
)
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.toy.character_models import VARIANTS


def test_every_variant_is_shown_somewhere():
    named = {"post_norm", "pre_norm", "today", "experts", *a2.PARTS}
    assert named == {*VARIANTS}
    assert {*a2.SWEPT} <= named


def test_an_expert_is_a_gated_network():
    with torch.device("meta"):
        expert = SwiGLU(4096, 14_336)
    size = sum(p.numel() for p in expert.parameters())
    assert find("exa2_active").reference == (256 * size, 64 * size)


def test_the_explorer_shows_every_stored_run():
    assert {*BLOCKS.values()} == {*VARIANTS}
    for block, rate in product(BLOCKS, RATES):
        [chart] = learning_rate_view(block, rate).drawn
        assert len(chart.lines) == 3
        assert max(max(line.y) for line in chart.lines) < chart.y.high


def test_the_explorer_tells_one_number_where_the_seeds_agree():
    said = [learning_rate_view(block, "0.03").said for block in BLOCKS]
    assert said[0].endswith("is 2.474 nats per character with every seed.")
    assert all("to" in text for text in said[1:])


def test_the_explorer_answers_what_the_page_asks():
    def excess(name, rate):
        return [run["excess"][0] for run in a2.runs_by_rate(name)[rate]]

    letters = a2.LETTERS
    assert {n for n in VARIANTS if min(excess(n, 0.01)) > 0.9 * letters} == {
        "post_norm"
    }
    assert {n for n in VARIANTS if max(excess(n, 0.03)) < 0.1} == {"today", "experts"}


def test_what_the_page_says_of_the_four_learning_rates():
    runs = {name: a2.runs_by_rate(name) for name in ("pre_norm", "rotary", "qk_norm")}
    better = {
        name: [
            rate
            for rate in runs["pre_norm"]
            if max(run["excess"][0] for run in runs[name][rate])
            < min(run["excess"][0] for run in runs["pre_norm"][rate])
        ]
        for name in ("rotary", "qk_norm")
    }
    assert better == {"rotary": [*runs["pre_norm"]], "qk_norm": [0.03]}
