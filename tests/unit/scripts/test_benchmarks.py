"""The program that trains and times, on a processor and with tiny models."""

import json
import sys

import pytest

import training

TINY = ["d_model=16", "n_heads=2", "n_layers=1", "d_ff=16", "batch_tokens=64"]


@pytest.fixture
def measure(monkeypatch, tmp_path):
    """A function that runs the program and returns what it wrote, by name."""

    def measure(what, *options):
        given = [what, "--config", "toy", "--device", "cpu", "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["training.py", *given, *options])
        training.main()
        return {p.name: json.loads(p.read_text()) for p in tmp_path.glob("*.json")}

    return measure


def test_speeds_of_all_models_by_length(measure, capsys):
    found = measure("speed", "--lengths", "4", "--set", *TINY)
    assert len(found) == len(training.MODELS)
    for name, row in found.items():
        assert name == f"speed-toy-{row['model']}-{row['length']}.json"
        assert row["sentences"] * row["length"] == 64
        assert row["tokens_per_second"] > 0
        assert row["peak_bytes"] > 0
        assert {"command", "machine", "versions", "commit", "seed"} <= {*row}
    capsys.readouterr()
    assert measure("speed", "--lengths", "4", "--set", *TINY) == found
    assert capsys.readouterr().out.count("there already") == len(found)
