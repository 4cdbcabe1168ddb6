"""Speeds of the models of the comparison."""

import processor_speeds
from gpu import LADDER
from speed.training_speed import WORKS, Method, make_batches


def test_every_model_of_the_comparison_is_timed(monkeypatch):
    monkeypatch.setattr(processor_speeds, "WORK", "small")
    monkeypatch.setattr(processor_speeds, "ROUNDS", 1)
    found = processor_speeds.model_speeds()
    assert list(found) == [*LADDER]
    assert all(row["tokens_per_second"] > 0 for row in found.values())
    assert found["bahdanau"]["precision"] == "float32"


def test_an_epoch_changes_every_parameter():
    batches = make_batches(
        Method("x", padded=False), WORKS["small"], processor_speeds.CPU
    )
    run = processor_speeds.Updates("luong", batches)
    before = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    run.one_epoch()
    assert all((p != before[name]).any() for name, p in run.model.named_parameters())
