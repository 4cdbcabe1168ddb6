"""Snapshots of a model that learns where to attend, and that they change nothing."""

from itertools import islice

import pytest
import torch
from compare import make_bahdanau

from attnbook.analysis.learning_to_attend import (
    mean_at_aligned,
    score_descent,
    take_snapshot,
    watched,
)
from attnbook.models.bahdanau import Bahdanau
from attnbook.nn.losses import token_loss
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch, toy_batches
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import alignment_accuracy, attention_weights
from attnbook.toy.training import fit
from experiments.ch02_plateau import plateau


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_watching_changes_nothing(dropout):
    runs = []
    for watch in (False, True):
        torch.manual_seed(0)
        sizes = {"d_embed": 8, "d_hidden": 8, "dropout": dropout}
        model = Bahdanau(len(SOURCE), len(TARGET), **sizes)
        batches, log = toy_batches(0, (1,), 4), []
        if watch:
            batches = watched(batches, model, held_out_pairs(1, 4), log, every=2)
        losses = fit(model, batches, steps=5, learning_rate=1e-2)
        runs.append((losses, torch.cat([p.flatten() for p in model.parameters()])))
    assert runs[0][0] == runs[1][0]
    assert torch.equal(runs[0][1], runs[1][1])
    assert [entry.step for entry in log] == [0, 2, 4]


class Preset(Bahdanau):
    """Its weights are given, (B, T, S), not computed."""

    def forward(self, src, tgt_in, preset):
        self.preset = iter(preset.unbind(1))
        return super().forward(src, tgt_in)

    def attend(self, s, source):
        weights = next(self.preset)
        return (weights[:, None] @ source.states)[:, 0], weights


def test_the_three_losses_are_those_of_such_weights():
    """Against a model that takes the weights from outside."""
    model, pairs = make_bahdanau(), held_out_pairs(1, 3) + held_out_pairs(2, 2)
    src, tgt_in, tgt_out = make_batch(pairs)
    own = attention_weights(model, pairs)
    real = src.ne(0).float()[:, None].expand_as(own)
    right = own.clone()
    for b, pair in enumerate(pairs):
        for i, j in enumerate(pair.alignment):
            if j is not None:
                right[b, i] = torch.eye(own.shape[-1])[j]
    preset = Preset(len(SOURCE), len(TARGET), d_embed=8, d_hidden=12, d_attention=10)
    preset.load_state_dict(model.state_dict())
    seen = take_snapshot(model, pairs, step=0)
    right = settle(model, pairs, right)
    for weights, loss in (
        (own, seen.loss),
        (real / real.sum(-1, keepdim=True), seen.uniform),
        (right, seen.oracle),
    ):
        with torch.no_grad():
            wanted = token_loss(preset(src, tgt_in, weights), tgt_out).item()
        assert loss == pytest.approx(wanted, abs=1e-5)


@torch.no_grad()
def settle(model, pairs, weights):
    """The weights, where no place is right, that follow from those before them."""
    src, tgt_in, _ = make_batch(pairs)
    state, found = model.start(src), weights.clone()
    s, source = state.s, state.source
    for i, token in enumerate(tgt_in.unbind(1)):
        _, free = model.attend(s, source)
        for b, pair in enumerate(pairs):
            if i >= len(pair.alignment) or pair.alignment[i] is None:
                found[b, i] = free[b]
        c = (found[:, i, None] @ source.states)[:, 0]
        s = model.cell(torch.cat([model.embedding(token), c], -1), s)
    return found


def test_mean_at_the_aligned_words_by_hand():
    pair = translate_by_rule("a dog sees a cat")
    weights = torch.zeros(1, 6, 6)
    weights[0, range(5), pair.alignment] = torch.tensor([0.5, 0.1, 0.2, 0.3, 0.9])
    assert mean_at_aligned(weights, [pair]) == pytest.approx(0.4)


class Raised(Bahdanau):
    """One score can be raised by hand."""

    def attend(self, s, source):
        self.steps += 1
        scores = self.score(s[:, None], source.keys)[:, 0]
        if self.steps == self.at + 1:
            scores = scores + self.rise * torch.eye(6).double()[self.place]
        weights = scores.softmax(-1)
        return (weights[:, None] @ source.states)[:, 0], weights


def test_descent_is_how_much_the_loss_falls():
    pair = translate_by_rule("a dog sees a cat")
    torch.manual_seed(0)
    model = Raised(len(SOURCE), len(TARGET)).double()
    model.rise, model.place, model.at, model.steps = 0.0, 0, 0, 0
    descent = score_descent(model, [pair])  # (1, 6, 6)
    assert descent.shape == (1, 6, 6)
    src, tgt_in, tgt_out = make_batch([pair])
    for model.at, model.place in ((0, 1), (3, 4), (5, 5)):
        losses = []
        for model.rise in (-1e-4, 1e-4):
            model.steps = 0
            losses.append(6 * token_loss(model(src, tgt_in), tgt_out).item())
        slope = (losses[0] - losses[1]) / 2e-4
        assert descent[0, model.at, model.place].item() == pytest.approx(
            slope, abs=1e-8
        )


def test_the_last_snapshot_can_be_set():
    log = []
    batches = watched(
        toy_batches(0, (1,), 4), make_bahdanau(), held_out_pairs(1, 2), log, 1, 2
    )
    assert len([*islice(batches, 6)]) == 6
    assert [snapshot.step for snapshot in log] == [0, 1, 2]


def test_shares_are_those_of_the_weights_and_of_the_descent():
    model, pairs = make_bahdanau(), held_out_pairs(2, 5)
    seen, descent = take_snapshot(model, pairs, 7), score_descent(model, pairs)
    weights = attention_weights(model, pairs)
    assert seen.step == 7
    assert seen.alignment == alignment_accuracy(weights, pairs)
    assert seen.weight == mean_at_aligned(weights, pairs)
    assert seen.steepest == alignment_accuracy(descent, pairs)
    assert seen.descent == mean_at_aligned(descent, pairs)


def test_the_experiment_stores_its_snapshots_in_order(monkeypatch):
    monkeypatch.setattr("experiments.ch02_plateau.UNTIL", 10)
    monkeypatch.setattr("experiments.ch02_plateau.STEPS", 12)
    found = plateau(seeds=(3,))
    [run] = found["runs"]
    assert run["seed"] == 3
    assert [snapshot[0] for snapshot in run["log"]] == [0, 10]
    assert len(found["fields"]) == len(run["log"][0])
    first, last = (dict(zip(found["fields"], s, strict=True)) for s in run["log"])
    assert last["loss"] < first["loss"] < 4


def test_an_error_leaves_no_hook_behind():
    model = make_bahdanau()
    with pytest.raises(ValueError, match=r"."):
        score_descent(model, [])
    assert not model.score._forward_hooks
