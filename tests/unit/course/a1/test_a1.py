"""Figures and tables of appendix A1: they show what is stored and given."""

from math import exp
from statistics import fmean

import pytest
import torch

from attnbook.core import results
from attnbook.course.a1 import figures as a1
from attnbook.data.digits import load_digits
from attnbook.models.patch_classifier import cut_patches

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


def test_samples_and_gaps_are_shown_as_stored(captions):
    assert a1.samples_table().rows() == [("A dog runs.",), ("Two men sit.",)]
    assert a1.gaps_table().rows() == [("A ___ runs.", "dog 50 %, man 25 %")]


def test_roles_have_a_column_for_each_number_of_sentences():
    runs = results.load("one_encoder")["roles"]
    for row, key in zip(
        a1.roles_table().rows(), ("scratch", "pre_trained"), strict=True
    ):
        for shown, number in zip(row[1:], (4, 16, 64), strict=True):
            mine = [100 * run[key] for run in runs if run["sentences"] == number]
            assert len(mine) >= 3
            assert shown == pytest.approx((fmean(mine), min(mine), max(mine)))


def test_digits_are_shown_by_patch_and_order():
    found = results.load("one_encoder")
    *rows, nearest = a1.digits_table().rows()
    assert nearest[1] == 100 * found["nearest"]
    for (name, shown), kind in zip(
        rows, ((2, False), (2, True), (4, False)), strict=True
    ):
        mine = [
            100 * run["right"]
            for run in found["digits"]
            if (run["patch"], run["shuffled"]) == kind
        ]
        assert shown == pytest.approx((fmean(mine), min(mine), max(mine)))
        assert f"{kind[0]} × {kind[0]}" in name or kind[1]


def test_patches_are_drawn_in_reading_order():
    image = load_digits()[0][0]
    patches = cut_patches(image[None], 2)[0]
    left, right = a1.patches_figure(image, patches).axes
    assert torch.equal(torch.tensor(left.images[0].get_array()), image)
    for drawn, patch in zip(right.images, patches, strict=True):
        assert torch.equal(torch.tensor(drawn.get_array()), patch.view(2, 2))
    assert [text.get_text() for text in right.texts] == [str(n) for n in range(1, 17)]
    corners = [drawn.get_extent()[::2] for drawn in right.images]
    assert corners == sorted(corners, key=lambda c: (-c[1], c[0]))
