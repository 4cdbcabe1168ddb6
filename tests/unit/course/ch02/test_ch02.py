"""Chapter 2 and its laboratory: what is computed, and drawn of models just trained."""

import math
import random
from itertools import islice, permutations

import pytest
import torch
from compare import make_bahdanau
from drawn import cells
from notebook_cells import printed

from attnbook.analysis.occlusion import bahdanau_hiding_effects, replacing_effects
from attnbook.course.ch02 import figures, lab
from attnbook.nn.losses import token_loss
from attnbook.toy.data import TARGET, held_out_pairs, toy_batches
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import attention_weights
from attnbook.toy.models import load_toy_model
from experiments import ch02_clicks, ch02_learning
from experiments import ch02_translation as experiments

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

PAIR = translate_by_rule("the old farmer sees a bird")


def words_of(texts):
    return [text.get_text() for text in texts if text.get_text()]


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
    effects = {
        "hidden": bahdanau_hiding_effects(model, PAIR),
        "replaced": replacing_effects(model, PAIR),
    }
    weights = attention_weights(model, [PAIR])[0]
    fig = figures.weight_and_effect_figure(weights, effects, PAIR)
    drawn = [ax.collections[0].get_array().filled(math.nan).ravel() for ax in fig.axes]
    assert drawn[0] == pytest.approx((100 * weights).flatten().numpy())
    assert drawn[1] == pytest.approx(effects["hidden"].flatten().numpy())


def test_a_clause_counts_wherever_it_stands(monkeypatch):
    pairs = held_out_pairs(3, 2)
    one, two = (" ".join(pair.target).split(" ul ") for pair in pairs)
    outputs = [" ul ".join([one[2], one[0]]), " ul ".join([two[0], two[1], two[2]])]
    monkeypatch.setattr(
        lab, "greedy_translations", lambda *_: [tuple(o.split()) for o in outputs]
    )
    found = lab.clause_shares(make_bahdanau(), pairs)
    assert found == {"clauses": 2.5, "1": 1.0, "2": 0.5, "3": 1.0}


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


def test_a_click_reads_one_position_and_leaves_the_end_to_the_model(monkeypatch):
    model = make_bahdanau()
    read = []
    step = model.step

    def watch(token, state):
        read.append(state.source.mask[0].nonzero().flatten().tolist())
        return step(token, state)

    monkeypatch.setattr(model, "step", watch)
    never = monkeypatch.setattr
    never(ch02_clicks, "ITS_OWN", set())
    output = ch02_clicks.write_by_clicks(model, PAIR.source, [2, 0])
    assert read[1::2] == [[2], [0]]
    assert all(positions == [*range(7)] for positions in read[::2])
    assert len(output) <= 2
    always = {*range(len(TARGET))}
    never(ch02_clicks, "ITS_OWN", always)
    read.clear()
    ch02_clicks.write_by_clicks(model, PAIR.source, [2, 0])
    assert all(positions == [*range(7)] for positions in read)


def test_nouns_change_places_and_articles_follow():
    pair = translate_by_rule("a brave robot sees an old bird")
    wanted, clicks = ch02_clicks.with_nouns_exchanged(pair)
    assert wanted.source == tuple(["a", "brave", "bird", "sees", "an", "old", "robot"])
    assert [pair.source[j] for j in clicks[:3]] == ["bird", "brave", "a"]
    rendered = ch02_clicks.renders
    found = [rendered(*pair) for pair in (("dos", "an"), ("don", "a"), ("ken", "a"))]
    assert found == [True, True, False]
    found = [rendered(word, "farmer") for word in ("maron", "maros")]
    assert found == [True, False]


def test_covering_is_masking_what_is_named():
    model = make_bahdanau()
    [*words] = ch02_clicks.covering_effects(model, PAIR, random.Random(0))
    effects = bahdanau_hiding_effects(model, PAIR)
    aligned = [effects[t, j].item() for t, j in enumerate(PAIR.alignment)]
    assert [word["aligned"] for word in words] == pytest.approx(aligned, abs=1e-5)
    assert [word["kind"] for word in words[:2]] == ["noun", "adjective"]
    found = ch02_clicks.cover_medians(model, [PAIR])
    assert [found[kind]["words"] for kind in ("all", "noun")] == [6, 2]
    nouns = [aligned[0], aligned[3]]
    assert found["noun"]["aligned"] == pytest.approx(sum(nouns) / 2, abs=1e-3)


def test_training_halts_before_the_step_of_its_name(monkeypatch):
    monkeypatch.setattr(ch02_learning, "HALT", 2)
    model = make_bahdanau()
    losses = [
        token_loss(model(b.src, b.tgt_in), b.tgt_out) for b in islice(toy_batches(0), 1)
    ]
    made, loss = ch02_learning.halted(lambda *sizes: model, 0)
    assert made is model
    assert not model.training
    assert 0 < loss < losses[0].item()  # the second is after an update


@pytest.mark.parametrize("part", ch02_learning.PARTS)
def test_a_part_is_frozen_until_the_halt(part):
    model = make_bahdanau()
    score = {*model.score.parameters()}
    for step in (0, ch02_learning.HALT - 1, ch02_learning.HALT):
        ch02_learning.freeze(model, part, step)
        for parameter in model.parameters():
            named = {
                "nothing": False,
                "the score": parameter in score,
                "all but the score": parameter not in score,
            }[part]
            held = named and step < ch02_learning.HALT
            assert parameter.requires_grad == (not held)


# The page's own code, at its edges


def test_clicks_in_any_order_write_what_the_package_writes():
    model, write = load_toy_model("bahdanau"), printed("ch02", "write_by_clicks")
    orders = [*permutations(range(6))][::11]
    others = [[], [2], [6, 5], [2] * 30, [4, 3, 2, 1, 0, 5, 5, 5]]
    for clicks in [*map(list, orders), *others]:
        wanted = ch02_clicks.write_by_clicks(model, PAIR.source, clicks)
        given = [*clicks]
        with torch.no_grad():
            assert write(model, PAIR.source, given) == wanted
        assert given == clicks


def test_a_click_beside_the_sentence_is_refused():
    write = printed("ch02", "write_by_clicks")
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        write(load_toy_model("bahdanau"), PAIR.source, [7])


def test_an_accuracy_of_no_word_is_refused():
    accuracy = printed("ch02", "ex2_alignment_accuracy", solution=True)
    assert accuracy([torch.eye(2)], [[0, None]]) == 1
    with pytest.raises(ValueError, match="at least one"):
        accuracy([torch.eye(2)], [[None, None]])
