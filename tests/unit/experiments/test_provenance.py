"""Stored results know what made them, and how far another run is from them."""

import json
import math
from functools import partial

import pytest

from attnbook.core import results
from experiments import registry
from experiments.provenance import differences, in_part, save


def test_results_are_stored_whole_and_found_again(tmp_path, monkeypatch):
    path = save("trial", {"runs": [1, 2]}, 12.3, tmp_path / "new")
    assert [p.name for p in path.parent.iterdir()] == ["trial.json"]
    monkeypatch.setattr(results, "FOLDER", path.parent)
    found = results.load("trial")
    assert found == json.loads(path.read_text())
    assert found["command"] == "python -m attnbook.course trial"
    assert found["runs"] == [1, 2]
    assert found["seconds"] == 12


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_result_that_is_not_finite_is_not_stored(tmp_path, number):
    with pytest.raises(ValueError, match=r"trial\.json.*runs.*NaN or infinite"):
        save("trial", {"runs": [{"loss": number}]}, 1, tmp_path)
    assert not (tmp_path / "trial.json").exists()


def test_differences_are_told_in_spreads_of_their_kind():
    stored = {"steps": 3, "runs": [{"loss": 1.0, "at": 1}, {"loss": 3.0, "at": 2}]}
    near = {"steps": 3, "runs": [{"loss": 1.5, "at": 1}, {"loss": 3.1, "at": 2}]}
    assert differences(stored, stored) == {}
    assert differences(stored, near) == {"runs/loss": 0.25}
    assert differences(stored, stored | {"steps": 4}) == {"steps": math.inf}
    assert differences(stored, {"steps": 3, "runs": []}) == {"form": math.inf}
    assert differences({"said": ["a", "b"]}, {"said": ["a", "c"]}) == {"said": math.inf}


def test_some_of_the_runs_are_compared_by_the_spread_of_all():
    stored = {"runs": [{"loss": 1.0}, {"loss": 3.0}]}
    assert differences(stored, {"runs": [{"loss": 1.5}]}, runs=1) == {"runs/loss": 0.25}
    assert differences(stored, {"runs": []}, runs=1) == {"form": math.inf}


def test_an_experiment_is_repeated_in_part(monkeypatch):
    monkeypatch.setattr(registry, "EXPERIMENTS", {})

    @registry.sweep(rate=[1, 2], seed=[0, 1])
    def trial(rate, seed):
        return {"loss": rate + seed}

    def of_seeds(seeds=(5, 6, 7)):
        return {"runs": [*seeds]}

    whole = registry.EXPERIMENTS["trial"]
    assert in_part(whole, 3)()["runs"] == whole()["runs"][:3]
    assert in_part(partial(of_seeds, seeds=(8, 9)), 1)() == {"runs": [8]}
    assert in_part(lambda: {}, 1) is None
