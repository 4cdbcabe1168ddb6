"""Figures and tables of appendix A1: they show what is stored and given."""

from math import exp
from statistics import fmean

import pytest

from attnbook.core import results
from attnbook.course.a1 import figures as a1

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

CAPTIONS = {
    "trigram": {"with_end": 3.0, "words": 3.2},
    "runs": [
        {"model": "decoder-only", "seed": 0, "with_end": 2.0, "words": 2.2},
        {"model": "encoder-only", "seed": 0, "with_end": None, "words": 1.0},
        {"model": "decoder-only", "seed": 1, "with_end": 2.5, "words": 2.7},
        {"model": "encoder-only", "seed": 1, "with_end": None, "words": 1.5},
    ],
    "samples": ["A dog runs.", "Two men sit."],
    "gaps": [{"text": "A ___ runs.", "words": [["dog", 0.5], ["man", 0.25]]}],
}


@pytest.fixture
def captions(monkeypatch):
    monkeypatch.setattr(results, "load", {"language_models": CAPTIONS}.__getitem__)


def test_perplexities_are_means_over_seeds_of_powers_of_e(captions):
    trigram, decoder, encoder = a1.perplexity_table().rows()
    assert trigram[2] == pytest.approx(exp(3.2))
    assert decoder[2] == pytest.approx(
        (fmean([exp(2.2), exp(2.7)]), exp(2.2), exp(2.7))
    )
    assert encoder[2] == pytest.approx((fmean([exp(1), exp(1.5)]), exp(1), exp(1.5)))
