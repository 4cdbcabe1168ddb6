"""Figures and tables of appendix A1: they show what is stored and given."""

from math import exp
from statistics import fmean

import pytest

from attnbook.core import results
from attnbook.course.a1 import figures as a1
from attnbook.data.digits import load_digits

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


def test_the_table_of_writers_has_a_row_for_each_training(monkeypatch):
    runs = [{key: share for key in a1.TRAININGS} for share in (0.25, 0.75)]
    monkeypatch.setattr(results, "load", {"writers": {"runs": runs}}.__getitem__)
    rows = a1.writers_table().rows()
    assert [row[0] for row in rows] == [name for name, _ in a1.TRAININGS.values()]
    assert {tuple(row[2]) for row in rows} == {(50, 25, 75)}


def test_shuffled_images_are_drawn_below_the_images():
    images, _ = load_digits()
    drawn = [ax.images[0].get_array() for ax in a1.shuffled_figure(images[:3]).axes]
    above, below = drawn[:3], drawn[3:]
    for image, one, other in zip(images, above, below, strict=False):
        assert (one == image.numpy()).all()
        assert (other != one).any()
        assert sorted(other.flatten()) == sorted(one.flatten())
