"""Figures, tables and exercises of chapter 10."""

import json

import pytest
import torch
from compare import make_transformer

from attnbook.core import results
from attnbook.decoding.greedy_search import greedy
from attnbook.pages.exercises.checking import find
from attnbook.pages.figures import ch10
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
    beams = {"steps": 350, "runs": runs}
    cost = {
        "machine": "some",
        "recomputed": {"1": {"1": 4, "256": 90}},
        "recomputed_all_logits": {"1": {"1": 4, "256": 120}},
        "cached": {"1": {"1": 5, "256": 6}, "8": {"1": 7, "256": 8}},
        "cache_mb": {"1": {"1": 0.1, "256": 2}, "8": {"1": 0.3, "256": 4}},
    }
    for name, stored in (("beams", beams), ("decode_cost", cost)):
        (tmp_path / f"{name}.json").write_text(json.dumps(stored), encoding="utf-8")


# Figures


@torch.no_grad()
def test_decoding_frames_show_the_weights_of_each_step():
    torch.manual_seed(0)
    model = toy_transformer(35, 43).eval()
    pair = translate_by_rule("the old farmer sees a bird")
    figures, captions, alts = ch10.decoding_frames(model, pair)
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
        assert f"Position {t}: " in captions[t]
        assert all(f" {x:.2f}" in alts[t] for x in (*cross, *own))


def test_chance_figure_draws_the_bars():
    panels = {"a": torch.tensor([0.7, 0.3]), "b": torch.tensor([0.5, 0.5])}
    axes = ch10.chance_figure(panels, ["x", "y"]).axes
    for ax, p in zip(axes, panels.values(), strict=True):
        heights = [bar.get_height() for bar in ax.patches]
        assert heights == pytest.approx(p.tolist())


# Tables


@pytest.mark.usefixtures("_stored")
def test_beams_stand_by_clauses():
    greedy_row, four = ch10.beams_table().rows()  # a beam of 1 is greedy
    assert greedy_row[1:3] == pytest.approx((30, 40))
    assert greedy_row[3:] == (None, None)
    assert four[0] == "W = 4, α = 0.6"
    assert four[1:] == pytest.approx((34.1, 44.1, 15, 20), abs=0.05)


@pytest.mark.usefixtures("_stored")
def test_costs_are_shown_and_drawn():
    found = ch10.cost_table()
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
    again, kept = ch10.cost_figure().axes[0].get_lines()
    assert list(again.get_ydata()) == [4, 90]
    assert list(kept.get_ydata()) == [5, 6]
    assert list(kept.get_xdata()) == [1, 256]


# Exercises


@torch.no_grad()
def test_cached_is_what_the_state_holds():
    model = make_transformer(10, d_model=8, n_heads=2, n_layers=3, d_ff=8).eval()
    state = model.start(torch.full((1, 5), 4))
    for _ in range(4):
        _, state = model.step(torch.tensor([4]), state)
    held = sum(x.numel() for layer in state.layers for kv in layer for x in kv)
    assert held == find("ex10_cached").reference(3, 8, 5, 4)


def test_the_mended_loop_says_what_greedy_says():
    exercise = find("ex10_last_place")
    for model, src, length in exercise.inputs():
        said = greedy(model, src, length)
        mine = exercise.reference(model, src, length)
        ended = (said == 2).cumsum(1) - (said == 2).long()  # after EOS it goes on
        assert torch.equal(mine[:, : said.shape[1]][ended == 0], said[ended == 0])
        assert len({tuple(row.tolist()) for row in mine}) == len(src)


def test_a_beam_keeps_the_best_of_the_table():
    log_p, steps = find("ex10_beam_step").inputs()[0]
    parents, words = find("ex10_beam_step").reference(log_p, steps)
    assert parents.tolist() == [1, 0] or parents.tolist() == [1, 1]
    best = (log_p[:, None] + steps).flatten().sort(descending=True).values[:2]
    assert torch.equal((log_p[parents] + steps[parents, words]), best)
