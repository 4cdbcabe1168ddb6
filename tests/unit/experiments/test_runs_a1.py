"""What the experiments of appendix A1 measure, at small size."""

import pytest
import torch

from attnbook.core import results
from experiments import a1_toy as toy


def near(number):
    return pytest.approx(number, abs=1e-4)


def test_a_tagger_begins_with_the_weights_it_is_given(monkeypatch):
    monkeypatch.setattr(toy, "FINE_TUNING", 1)
    monkeypatch.setattr(toy, "SLOWER", 1e-300)
    torch.manual_seed(1)
    weights = toy.TokenModel(toy.key_mask).state_dict()
    before = {name: w.clone() for name, w in weights.items()}
    assert toy.tag_accuracy(weights, 4, seed=0) != toy.tag_accuracy({}, 4, seed=0)
    for name, w in weights.items():
        assert torch.equal(w, before[name])


def test_what_needs_no_training_is_what_is_stored():
    stored = results.load("one_encoder")
    assert toy.by_word_accuracy() == near(stored["by_word"])
    assert toy.nearest_accuracy() == near(stored["nearest"])


def test_one_encoder_at_small_size(monkeypatch):
    for name in ("FINE_TUNING", "DIGIT_STEPS"):
        monkeypatch.setattr(toy, name, 1)
    monkeypatch.setattr(toy, "gap_filler", lambda _: toy.TokenModel(toy.key_mask))
    monkeypatch.setattr(toy, "SEEDS", (0,))
    found = toy.one_encoder()
    wanted = {(0, n) for n in toy.LABELLED}
    assert {(run["seed"], run["sentences"]) for run in found["roles"]} == wanted
    assert len(found["digits"]) == 2
    for run in (*found["roles"], *found["digits"]):
        assert all(0 <= run[name] <= 1 for name in run.keys() & {"scratch", "right"})
