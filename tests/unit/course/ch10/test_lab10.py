"""Figures and tables of laboratory page 10."""

import pytest
from sacrebleu.metrics import CHRF

from attnbook.core import results
from attnbook.course.ch10 import lab as lab10
from experiments.ch10_bayes_risk import most_similar

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_every_caption_is_in_the_table_of_silence():
    rows, stored = lab10.silence_table().rows(), results.load("silence")
    assert sum(row[1] for row in rows) == stored["captions"]
    assert sum(row[2] for row in rows) == stored["silent"] == 141
    assert [row[3] for row in rows] == sorted(row[3] for row in rows)


def test_a_sample_that_no_other_resembles_is_not_taken():
    samples = ["Katze", "ein Hund rennt", "ein Hund rennt", "xyz"]
    assert most_similar(samples, CHRF()) == "ein Hund rennt"
    assert most_similar(samples[::-1], CHRF()) == "ein Hund rennt"
