"""Chapter 4: the page's own code at its edges, and its first explorer."""

import math
from itertools import product

import pytest
import torch
from notebook_cells import printed

from attnbook.course.ch04.explorer_queries_and_keys import weigh
from attnbook.course.ch04.figures import PLANE_KEYS


@pytest.mark.parametrize("solution", [False, True])
def test_the_attention_of_the_page_in_half_precision(solution):
    """A score of 12,800 fits into 16 bits, the sum of products 102,400 doesn't."""
    q = torch.full((1, 64), 40.0).half()
    v = torch.tensor([[3.0]]).half()
    assert printed("ch04", "attention", solution)(q, q, v).item() == 3


def test_the_output_without_keys_is_zero():
    q, k, v = torch.ones(2, 4), torch.ones(0, 4), torch.ones(0, 3)
    assert not printed("ch04", "attention")(q, k, v).any()


def test_scores_are_lengths_times_the_cosine_and_weights_their_softmax():
    for angle, length in product((-180, -50, 0, 35, 90), (0, 0.5, 3)):
        query, scores, weights = weigh(angle, length)
        e = []
        for x, y in PLANE_KEYS:
            between = math.radians(angle) - math.atan2(y, x)
            e.append(length * math.hypot(x, y) * math.cos(between))
        total = sum(map(math.exp, e))
        assert math.hypot(*query.tolist()) == pytest.approx(length, abs=1e-6)
        assert scores.tolist() == pytest.approx(e, abs=1e-5)
        wanted = [math.exp(x) / total for x in e]
        assert weights.tolist() == pytest.approx(wanted, abs=1e-5)
