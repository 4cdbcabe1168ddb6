"""Tables of laboratory page 9."""

import json
from statistics import fmean

import pytest
import torch

from attnbook.core import results
from attnbook.course.ch09 import lab as lab09
from attnbook.toy.language import translate_by_rule

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


@pytest.fixture
def _stored(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    runs = [
        {"align": {"1": 0.9, "4": 0.5}, "exact": {"4": 0.5, "5": 0.0}},
        {"align": {"1": 0.8, "4": 0.7}, "exact": {"4": 0.7, "5": 0.1}},
    ]
    text = json.dumps({"runs": runs})
    (tmp_path / "bahdanau.json").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("_stored")
def test_tables_have_means_and_ranges():
    (row,) = lab09.alignment_table("bahdanau").rows()
    assert row == ("Bahdanau attention", (85, 80, 90), (60, 50, 70))
    (row,) = lab09.five_clauses_table("bahdanau").rows()
    assert row == ("Bahdanau attention", (60, 50, 70), (5, 0, 10))


def test_heads_are_scored_one_by_one():
    pair = translate_by_rule("the old farmer sees a bird")
    aligned = torch.zeros(1, 2, 7, 7)
    for i, j in enumerate(pair.alignment):
        aligned[0, 0, i, j] = 1
    aligned[0, 1, :, 6] = 1
    found = lab09.heads_table({"one": aligned}, [pair])
    assert [head.name for head in found.columns] == ["layer", "head 1", "head 2"]
    assert found.rows() == [("1", 100, 0)]


def test_stored_runs_at_five_clauses_are_as_the_page_says():
    for name in ("bahdanau", "transformer", "transformer_rotary"):
        four, five = (
            [run["exact"][n] for run in results.load(name)["runs"]] for n in "45"
        )
        assert len(four) == len(five) == 5
        assert fmean(four) > 0.9
        assert fmean(five) < 0.01
    assert max(five) == pytest.approx(1 / 80, abs=1e-3)
