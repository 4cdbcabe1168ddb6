"""The choice of learning rates: the same for each model, resumable, not repeated."""

import json

import pytest
from small_runs import small_config, write_texts

import learning_rates
from attnbook.translation.trainer import Trainer
from gpu import LADDER


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Tiny runs on the tests' texts, and a list of those that were trained."""
    data = write_texts(tmp_path / "texts")
    trained = []
    monkeypatch.setattr(
        learning_rates,
        "config",
        lambda name, **changes: small_config(data, **{**changes, "d_model": 16}),
    )
    monkeypatch.setattr(learning_rates, "EPOCHS", 1)
    train = Trainer.train
    monkeypatch.setattr(
        Trainer, "train", lambda self, bar: [trained.append(self.folder), train(self)]
    )
    return trained


def test_each_model_has_the_same_choice_and_nothing_runs_twice(small, tmp_path):
    command = ["--out", str(tmp_path), "--models", "luong", "transformer"]
    learning_rates.main([*command, "--rates", "0.002"])
    learning_rates.main([*command, "--rates", "0.002", "0.01"])
    table = json.loads((tmp_path / "learning_rates.json").read_text())
    assert {m: [*rates] for m, rates in table.items()} == {
        m: ["0.002", "0.01"] for m in ("luong", "transformer")
    }
    assert all(len(x) == 1 for rates in table.values() for x in rates.values())
    assert len(small) == len({*small}) == 4


def test_runs_differ_in_model_and_rate_alone():
    short = learning_rates.short_run
    for name, change in LADDER.items():
        run = short(name, 1e-3)
        assert (run.peak_learning_rate, run.max_epochs, run.seed) == (1e-3, 5, 1)
        assert run.model == change.get("model", "transformer")
        assert not run.score_tests
