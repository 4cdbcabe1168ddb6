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
