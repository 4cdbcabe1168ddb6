"""Figures and tables of laboratory page 10."""

import json

import pytest
import torch

from attnbook.core import results
from attnbook.course.ch10 import lab as lab10
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import toy_transformer

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


@pytest.fixture
def _stored(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    runs = [
        {
            "seed": seed,
            "clauses": clauses,
            "width": width,
            "alpha": 0.6,
            "exact": 0.1 * clauses + 0.01 * width + 0.002 * seed,
            "greedy_exact": 0.1 * clauses,
            "better": 0.05 * clauses,
        }
        for seed in (0, 1)
        for clauses in (1, 2, 3, 4)
        for width in (1, 4)
    ]
    cost = {
        "recomputed": {"1": {"1": 4, "256": 90}},
        "recomputed_all_logits": {"1": {"1": 4, "256": 120}},
        "cached": {"1": {"1": 5, "256": 6}, "8": {"1": 7, "256": 8}},
        "cache_mb": {"1": {"1": 0.1, "256": 2}, "8": {"1": 0.3, "256": 4}},
    }
    penalties = {"validation_bleu_by_alpha": {"0.0": 30.0, "0.6": 31.5}}
    for name, stored in (
        ("beams", {"steps": 350, "runs": runs}),
        ("decode_cost", cost),
        ("multi30k_en_de", penalties),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(stored), encoding="utf-8")


@pytest.mark.usefixtures("_stored")
def test_beams_have_means_and_ranges_by_clauses():
    greedy_row, four = lab10.beams_table().rows()  # a beam of 1 is greedy
    assert [cell.mean for cell in greedy_row[1:3]] == pytest.approx([30, 40])
    assert greedy_row[3:] == (None, None)
    assert four[0] == "W = 4, α = 0.6"
    assert four[1] == pytest.approx((34.1, 34.0, 34.2))
    assert four[4] == pytest.approx((20, 20, 20))


@pytest.mark.usefixtures("_stored")
def test_penalties_are_shown():
    assert lab10.penalties_table().rows() == [("0", 30.0), ("0.6", 31.5)]


@pytest.mark.usefixtures("_stored")
def test_costs_are_shown_by_batch():
    found = lab10.cost_table()
    assert [head.name for head in found.columns[1:]] == ["1", "256"]
    assert [row[1:] for row in found.rows()] == [
        (4, 90),
        (4, 120),
        (5, 6),
        (7, 8),
        (0.1, 2),
        (0.3, 4),
    ]
    names = [row[0] for row in found.rows()]
    assert names[-2:] == ["1 sentence", "8 sentences"]


@torch.no_grad()
def test_decoding_frames_show_the_weights_of_each_step():
    torch.manual_seed(0)
    model = toy_transformer(35, 43).eval()
    pair = translate_by_rule("the old farmer sees a bird")
    figures, captions, alts = lab10.decoding_frames(model, pair)
    steps = lab10.steps_table(model, pair).rows()
    assert len(figures) == len(captions) == len(alts) == 8  # two more, then cut off
    for t, figure in enumerate(figures):
        left, right = figure.axes
        cross, own = ([p.get_width() for p in ax.patches] for ax in (left, right))
        assert (len(cross), len(own)) == (7, t + 1)
        assert sum(cross) == pytest.approx(1, abs=1e-5)
        assert sum(own) == pytest.approx(1, abs=1e-5)
        names = [ax.get_yticklabels()[0].get_text() for ax in (left, right)]
        assert names == ["the", "<bos>"]
        best = max(range(7), key=cross.__getitem__)
        assert f"({cross[best]:.2f})" in captions[t]
        assert steps[t][1] == [*pair.source, "<eos>"][best]
        assert steps[t][2] == pytest.approx(cross[best])
        assert captions[t].endswith(f"the output is {steps[t][3]}.")
        assert f"Position {t}: " in captions[t]
        assert all(f" {x:.2f}" in alts[t] for x in (*cross, *own))
