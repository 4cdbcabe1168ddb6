"""Experiments by name, sweeps, and the stored results that they made."""

import re
from itertools import product

import pytest
import torch

from attnbook.core import results
from experiments import registry
from experiments.registry import find_experiments, sweep

STORED = sorted(f.name.removesuffix(".json") for f in results.FOLDER.iterdir())
OURS = "python -m attnbook.course "


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "EXPERIMENTS", {})
    return registry.EXPERIMENTS


def test_a_sweep_goes_through_all_settings_the_last_one_fastest(registered):
    @sweep(width=(2, 3), seed=range(2), steps=[10, 20], note="kept")
    def drawn(width, seed):
        """A draw."""
        return {"draw": torch.randn(width).tolist()}

    stored = registered["drawn"]()
    assert {k: v for k, v in stored.items() if k != "runs"} == {
        "steps": [10, 20],
        "note": "kept",
    }
    for run, (width, seed) in zip(stored["runs"], product((2, 3), (0, 1)), strict=True):
        torch.manual_seed(seed)
        wanted = torch.randn(width).tolist()
        assert run == {"width": width, "seed": seed, "draw": wanted}


def test_a_sweep_without_a_seed_begins_each_run_alike(registered):
    @sweep(width=(2, 2))
    def drawn(width):
        return {"draw": torch.randn(width).tolist()}

    one, other = registered["drawn"]()["runs"]
    assert one == other


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_can_be_repeated(name):
    """By an experiment of that name, whose settings are those of the stored runs."""
    stored, known = results.load(name), find_experiments()
    if not stored.get("command", "").startswith(OURS):
        return
    assert stored["command"] == OURS + name
    settings = getattr(known[name], "settings", None)
    if settings:
        found = [tuple(run[key] for key in settings) for run in stored["runs"]]
        assert found == [*product(*settings.values())]


@pytest.mark.parametrize("options", [(), ("--stale",), ("--again", "1")])
def test_an_unknown_name_is_answered_by_all_names(options, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["attnbook.course", *options, "look_upp"])
    with pytest.raises(SystemExit) as stopped:
        registry.main()
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert re.search(r"no experiment 'look_upp'.*\n  look_up\n", said.err, re.DOTALL)
