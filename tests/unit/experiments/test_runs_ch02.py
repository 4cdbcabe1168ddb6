"""What chapter 2's experiments measure, at small size."""

import random
from itertools import islice
from statistics import median

import pytest
import torch
from compare import make_bahdanau

from attnbook.analysis.occlusion import bahdanau_hiding_effects
from attnbook.models.bahdanau import Bahdanau
from attnbook.nn.losses import token_loss
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch, toy_batches
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import alignment_accuracy, attention_weights
from attnbook.toy.models import load_toy_model
from experiments import ch02, ch02_clicks

PAIR = translate_by_rule("the old farmer sees a bird")


def test_training_halts_before_the_step_of_its_name(monkeypatch):
    monkeypatch.setattr(ch02, "HALT", 2)
    model = make_bahdanau()
    [batch] = islice(toy_batches(0), 1)
    first = token_loss(model(batch.src, batch.tgt_in), batch.tgt_out).item()
    made, loss = ch02.halted(lambda *sizes: model, 0)
    assert made is model
    assert not model.training
    assert 0 < loss < first  # the second is after an update


@pytest.mark.parametrize("part", ch02.PARTS)
def test_a_part_is_frozen_until_the_halt(part):
    model = make_bahdanau()
    score = {*model.score.parameters()}
    for step in (0, ch02.HALT - 1, ch02.HALT):
        ch02.freeze(model, part, step)
        for parameter in model.parameters():
            named = {
                "nothing": False,
                "the score": parameter in score,
                "all but the score": parameter not in score,
            }[part]
            assert parameter.requires_grad == (not named or step == ch02.HALT)


# Snapshots


class Preset(Bahdanau):
    """Its weights are given, (B, T, S), and its own where they are NaN."""

    def forward(self, src, tgt_in, preset):
        self.preset = iter(preset.unbind(1))
        return super().forward(src, tgt_in)

    def attend(self, s, source):
        _, own = super().attend(s, source)
        given = next(self.preset)
        weights = own.where(given.isnan(), given)
        return (weights[:, None] @ source.states)[:, 0], weights


@torch.no_grad()
def test_the_three_losses_are_those_of_such_weights():
    """Against a model that takes the weights from outside."""
    model, pairs = make_bahdanau(), held_out_pairs(1, 3) + held_out_pairs(2, 2)
    src, tgt_in, tgt_out = make_batch(pairs)
    real = src.ne(0).float()[:, None].expand(-1, tgt_in.shape[1], -1)  # (B, T, S)
    own = torch.full_like(real, torch.nan)
    right = own.clone()
    for b, pair in enumerate(pairs):
        for t, j in enumerate(pair.alignment):
            if j is not None:
                right[b, t] = torch.eye(right.shape[-1])[j]
    preset = Preset(len(SOURCE), len(TARGET), d_embed=8, d_hidden=12, d_attention=10)
    preset.load_state_dict(model.state_dict())
    with torch.enable_grad():
        seen = ch02.take_snapshot(model, pairs, step=0)
    uniform = real / real.sum(-1, keepdim=True)
    for weights, loss in (
        (own, seen.loss),
        (uniform, seen.uniform),
        (right, seen.oracle),
    ):
        wanted = token_loss(preset(src, tgt_in, weights), tgt_out).item()
        assert loss == pytest.approx(wanted, abs=1e-5)


def test_shares_are_those_of_the_weights_and_of_the_descent():
    model, pairs = load_toy_model("bahdanau"), held_out_pairs(2, 5)
    seen, descent = (
        ch02.take_snapshot(model, pairs, 7),
        ch02.score_descent(model, pairs),
    )
    weights = attention_weights(model, pairs)
    assert seen.step == 7
    assert seen.alignment == alignment_accuracy(weights, pairs)
    assert seen.weight == ch02.mean_at_aligned(weights, pairs)
    assert seen.steepest == alignment_accuracy(descent, pairs)
    assert seen.descent == ch02.mean_at_aligned(descent, pairs)


def test_mean_at_the_aligned_words_by_hand():
    pair = translate_by_rule("a dog sees a cat")
    weights = torch.zeros(1, 6, 6)
    weights[0, range(5), pair.alignment] = torch.tensor([0.5, 0.1, 0.2, 0.3, 0.9])
    assert ch02.mean_at_aligned(weights, [pair]) == pytest.approx(0.4)


class Raised(Bahdanau):
    """One score can be raised by hand."""

    rise, place, at, steps = 0.0, 0, 0, 0

    def attend(self, s, source):
        scores = self.score(s[:, None], source.keys)[:, 0]
        if self.steps == self.at:
            scores = scores + self.rise * torch.eye(6).double()[self.place]
        self.steps += 1
        weights = scores.softmax(-1)
        return (weights[:, None] @ source.states)[:, 0], weights


def test_descent_is_how_much_the_loss_falls():
    pair = translate_by_rule("a dog sees a cat")
    torch.manual_seed(0)
    model = Raised(len(SOURCE), len(TARGET)).double()
    descent = ch02.score_descent(model, [pair])  # (1, 6, 6)
    assert descent.shape == (1, 6, 6)
    src, tgt_in, tgt_out = make_batch([pair])
    for model.at, model.place in ((0, 1), (3, 4), (5, 5)):
        losses = []
        for model.rise in (-1e-4, 1e-4):
            model.steps = 0
            losses.append(6 * token_loss(model(src, tgt_in), tgt_out).item())
        slope = (losses[0] - losses[1]) / 2e-4
        found = descent[0, model.at, model.place].item()
        assert found == pytest.approx(slope, abs=1e-8)


# Covers and clicks


def test_quantiles_are_those_of_the_aligned_words(monkeypatch):
    model = load_toy_model("bahdanau")
    monkeypatch.setattr(ch02, "held_out_pairs", lambda *_: [PAIR])
    effects = bahdanau_hiding_effects(model, PAIR)
    drops = torch.stack([effects[t, j] for t, j in enumerate(PAIR.alignment)])
    wanted = [drops.quantile(level).item() for level in (0.05, 0.5, 0.95)]
    assert ch02.hidden_quantiles(model) == pytest.approx(wanted, abs=6e-4)


def test_covering_is_masking_what_is_named():
    model, [pair] = make_bahdanau(), held_out_pairs(2, 1)
    [*words] = ch02.covering_effects(model, pair, random.Random(0))
    effects = bahdanau_hiding_effects(model, pair)
    links = [(t, j) for t, j in enumerate(pair.alignment) if j is not None]
    aligned = [effects[t, j].item() for t, j in links]
    assert [word["up to 0"] for word in words] == pytest.approx(aligned, abs=1e-5)
    kinds = [ch02.kind_of(pair.source[j]) for _, j in links]
    assert [word["kind"] for word in words] == kinds
    found = ch02.cover_medians(model, [pair])
    nouns = [x for x, kind in zip(aligned, kinds, strict=True) if kind == "noun"]
    assert found["noun"]["words"] == len(nouns)
    assert found["noun"]["up to 0"] == pytest.approx(median(nouns), abs=1e-3)


def test_nouns_change_places_and_articles_follow():
    pair = translate_by_rule("a brave robot sees an old bird")
    wanted, clicks = ch02_clicks.with_nouns_exchanged(pair)
    assert " ".join(wanted.source) == "a brave bird sees an old robot"
    assert [pair.source[j] for j in clicks[:3]] == ["bird", "brave", "a"]


@pytest.mark.parametrize(
    ("output", "word", "right"),
    [
        ("dos", "an", True),
        ("don", "a", True),
        ("ken", "a", False),
        ("maron", "farmer", True),
        ("maros", "farmer", False),
    ],
)
def test_a_word_is_rendered_with_either_ending(output, word, right):
    assert ch02_clicks.renders(output, word) == right
