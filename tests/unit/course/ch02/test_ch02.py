"""Chapter 2 and its laboratory: what is computed, and drawn of models just trained."""

import math
from itertools import islice

import pytest
import torch
from compare import make_bahdanau
from drawn import cells

from attnbook.analysis.learning_to_attend import AttentionSnapshot
from attnbook.analysis.occlusion import bahdanau_hiding_effects, occlusion_effects
from attnbook.course.ch02 import experiments_translation as experiments
from attnbook.course.ch02 import figures, lab
from attnbook.toy.data import held_out_pairs, toy_batches
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import attention_weights

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

PAIR = translate_by_rule("the old farmer sees a bird")


def words_of(texts):
    return [text.get_text() for text in texts if text.get_text()]


def test_learning_is_drawn_from_the_log():
    log = [
        AttentionSnapshot(0, 4.0, 4.0, 4.0, 0.05, 0.06, 0.1, 0.001),
        AttentionSnapshot(10, 3.0, 3.5, 2.5, 0.25, 0.15, 0.5, 0.125),
        AttentionSnapshot(20, 1.0, 3.5, 0.5, 0.95, 0.85, 0.75, 0.25),
        AttentionSnapshot(30, 9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 0.0),
    ]
    fig = figures.learning_figure([4.0] * 10 + [2.0] * 10 + [9.0] * 9, log, until=20)
    lines = [[list(x.get_ydata()) for x in ax.get_lines()] for ax in fig.axes]
    assert lines[0] == [[4, 2], [4, 3.5, 3.5], [4, 3, 1], [4, 2.5, 0.5]]
    assert lines[1] == [pytest.approx([5, 25, 95]), pytest.approx([6, 15, 85])]


def test_the_map_shows_weights_and_frames_the_aligned_words():
    weights = torch.zeros(9, 9)  # padded
    weights[0, :3] = torch.tensor([0.04, 0.06, 0.9])
    ax, _ = figures.alignment_figure(weights, PAIR).axes
    assert words_of(ax.texts) == ["6", "90"]
    frames = [(p.get_y(), p.get_x()) for p in ax.patches]
    assert frames == [*enumerate(PAIR.alignment)]
    assert words_of(ax.get_yticklabels()) == [*PAIR.target, "<eos>"]
    assert ax.xaxis.get_label_position() == "top"  # where the words are


def test_a_map_of_words_has_their_names_and_no_frames():
    weights = torch.tensor([[0.05, 0.95], [0.6, 0.4]])
    ax, _ = figures.word_map_figure(weights, ["Hallo", "<eos>"], ["Hello", "."]).axes
    assert torch.allclose(cells(ax), 100 * weights)
    assert words_of(ax.texts) == ["95", "60", "40"]
    assert words_of(ax.get_yticklabels()) == ["Hallo", "<eos>"]
    assert words_of(ax.get_xticklabels()) == ["Hello", "."]
    assert not ax.patches


def test_weights_and_effects_are_drawn_below_each_other():
    model = make_bahdanau()
    effects = occlusion_effects(model, PAIR)
    weights = attention_weights(model, [PAIR])[0]
    fig = figures.weight_and_effect_figure(weights, effects, PAIR)
    drawn = [ax.collections[0].get_array().filled(math.nan).ravel() for ax in fig.axes]
    assert drawn[0] == pytest.approx((100 * weights).flatten().numpy())
    assert drawn[1] == pytest.approx(effects["hidden"].flatten().numpy())
    dots = lab.drop_figure([0.5, 0.25], [1, 2]).axes[0].collections[0].get_offsets()
    assert dots.tolist() == [[50, 1], [25, 2]]


def test_a_clause_counts_wherever_it_stands(monkeypatch):
    pairs = held_out_pairs(3, 2)
    one, two = (" ".join(pair.target).split(" ul ") for pair in pairs)
    outputs = [" ul ".join([one[2], one[0]]), " ul ".join([two[0], two[1], two[2]])]
    monkeypatch.setattr(
        lab, "greedy_translations", lambda *_: [tuple(o.split()) for o in outputs]
    )
    found = lab.clause_shares(make_bahdanau(), pairs)
    assert found == {"clauses": 2.5, "1": 1.0, "2": 0.5, "3": 1.0}


def test_a_peak_is_the_largest_weight_of_a_row():
    maps = [torch.tensor([[0.4, 0.6], [0.5, 0.5]]), torch.tensor([[0.1, 0.9]])]
    [row] = lab.peak_table({"both": maps}).rows()
    assert row[:2] == ("both", 2)
    assert row[2:] == pytest.approx((200 / 3, 200 / 3), rel=1e-5)


def test_attention_is_uniform_as_long_as_it_is_held():
    model = make_bahdanau()
    v, initial = model.score.v.weight, model.score.v.weight.detach().clone()
    batches = islice(experiments.hold_uniform(toy_batches(0), model, 3), 5)
    for step, _ in enumerate(batches):
        assert v.requires_grad == (step >= 3)
        assert torch.equal(v, initial if step >= 3 else torch.zeros_like(v))
    [*experiments.hold_uniform([None], model, 0)]
    assert torch.equal(v, initial)


def test_quantiles_are_those_of_the_aligned_words(monkeypatch):
    model = make_bahdanau()
    monkeypatch.setattr(experiments, "held_out_pairs", lambda *_: [PAIR])
    effects = bahdanau_hiding_effects(model, PAIR)
    drops = torch.stack([effects[t, j] for t, j in enumerate(PAIR.alignment)])
    wanted = [drops.quantile(level).item() for level in (0.05, 0.5, 0.95)]
    assert experiments.hidden_quantiles(model) == pytest.approx(wanted, abs=6e-4)
