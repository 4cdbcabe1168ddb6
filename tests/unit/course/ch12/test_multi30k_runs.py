"""Results of runs, collected from their folders."""

import json

import pytest

from attnbook.core import results
from attnbook.course.ch12.experiment_multi30k_decoding import RUN_VARIABLE
from attnbook.course.ch12.experiment_multi30k_runs import multi30k_learning_rates
from gpu import LADDER


def test_learning_rates_are_read_from_their_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(RUN_VARIABLE, str(tmp_path))
    with pytest.raises(ValueError, match=r"no .*learning_rates.json; make it with"):
        multi30k_learning_rates()
    found = {"luong": {"0.001": [3.123456, 2.0], "0.003": [2.5]}}
    path = tmp_path / "learning_rates.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    assert multi30k_learning_rates() == {
        "losses": {"luong": {"0.001": [3.1235, 2.0], "0.003": [2.5]}}
    }


def test_the_compared_models_have_the_better_learning_rate():
    losses = results.load("multi30k_learning_rates")["losses"]
    assert set(losses) == set(LADDER)
    for model, runs in losses.items():
        best = min(runs, key=lambda rate: runs[rate][-1])
        assert LADDER[model]["peak_learning_rate"] == float(best)
