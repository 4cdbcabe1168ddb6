"""The explorer of chapter 4 computes what the formulas say."""

import math
from itertools import product

import pytest

from attnbook.course.ch04.explorer_queries_and_keys import (
    weigh,
)
from attnbook.course.ch04.figures import PLANE_KEYS

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


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
