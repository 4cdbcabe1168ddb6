"""Figures, drawing and exercises of appendix A2."""

import pytest
import torch

from attnbook.core import results
from attnbook.course.a2 import drawings as a2_drawings
from attnbook.course.a2 import figures as a2
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.toy.character_models import VARIANTS

RATES = (0.001, 0.01, 0.1)


@pytest.fixture
def stored(monkeypatch):
    """Runs of two seeds, best at the middle learning rate; the seed is the unit."""

    def load(name):
        runs = [
            {
                **{"learning_rate": rate, "seed": seed},
                "excess": [abs(rate - 0.01) + 0.001 * (1 + seed), 0.5 + seed],
                **({"busiest": [0.5, 0.25]} if name == "block_experts" else {}),
            }
            for rate in RATES
            for seed in (0, 1)
        ]
        return {"parameters": 12_500, "runs": runs}

    monkeypatch.setattr(results, "load", load)


@pytest.mark.usefixtures("stored")
def test_the_table_has_each_variant_at_its_best_and_at_the_largest_learning_rate():
    rows = a2.variants_table().rows()
    assert len(rows) == 2 + len(a2.PARTS) + 1
    for _, size, within, beyond, largest in rows:
        assert size == 12.5
        assert within == pytest.approx((0.0015, 0.001, 0.002))
        assert beyond == pytest.approx((1, 0.5, 1.5))
        assert largest == pytest.approx((0.0915, 0.091, 0.092))


def test_every_variant_is_shown_somewhere():
    named = {"post_norm", "pre_norm", "today", "experts", *a2.PARTS}
    assert named == {*VARIANTS}
    assert {*a2.SWEPT} <= named


@pytest.mark.usefixtures("stored")
def test_the_figure_shows_all_learning_rates(as_in_the_pages):
    (ax,) = a2.learning_rate_figure().axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    for label, _ in a2.SWEPT.values():
        assert lines[label].get_xdata() == pytest.approx(RATES)
        assert lines[label].get_ydata()[1] == pytest.approx(0.0015)


@pytest.mark.usefixtures("stored")
def test_the_table_of_experts_has_their_shares():
    one, eight = a2.experts_table().rows()
    assert one[-1] is None
    assert eight[-1] == pytest.approx((37.5, 25, 50))


def test_only_today_the_stream_meets_nothing_but_sums():
    diagram = a2_drawings.two_blocks()
    thick = [a for a in diagram._arrows if a.width == a2_drawings.STREAM]
    old = [a for a in thick if a.points[0][0] < 250]
    new = [a for a in thick if a.points[0][0] > 250]
    assert len(old) == 1 + 2 * 2 + 1  # through two norms
    assert len(new) == 2 + 1


def test_an_expert_is_a_gated_network():
    with torch.device("meta"):
        expert = SwiGLU(4096, 14_336)
    size = sum(p.numel() for p in expert.parameters())
    assert find("exa2_active").reference == (256 * size, 64 * size)
