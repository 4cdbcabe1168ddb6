"""What the context holds, by kind of word and clause."""

import json

import pytest
import torch

from attnbook.analysis.occlusion import context_changes
from attnbook.core import results
from attnbook.course.ch01 import experiment_context_contents as experiment
from attnbook.course.ch01.experiment_context_contents import (
    changes_by_kind,
    context_contents,
)
from attnbook.models.seq2seq import InitialState
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import KINDS, translate_by_rule


def test_changes_are_averaged_by_kind_and_clause():
    torch.manual_seed(0)
    encoder = InitialState(len(SOURCE), len(TARGET)).encoder
    pairs = [
        translate_by_rule("the old farmer sees a bird and a dog hears the big cat"),
        translate_by_rule("a dog helps the cat and this king finds a robot"),
    ]
    found = changes_by_kind(encoder, pairs)
    one, two = (context_changes(encoder, pair)[:, 0].tolist() for pair in pairs)
    wanted = {
        "determiner": [
            [one[0], one[4], two[0], two[3]],
            [one[7], one[10], two[6], two[9]],
        ],
        "adjective": [[one[1]], [one[11]]],
        "noun": [[one[2], one[5], two[1], two[4]], [one[8], one[12], two[7], two[10]]],
        "verb": [[one[3], two[2]], [one[9], two[8]]],
    }
    for kind, clauses in wanted.items():
        means = [sum(c) / len(c) for c in clauses]
        assert found[kind] == pytest.approx(means, abs=6e-4)


def test_a_small_run_has_the_form_of_the_stored_one(monkeypatch):
    monkeypatch.setattr(experiment, "SEEDS", (0,))
    monkeypatch.setattr(experiment, "SENTENCES", 4)
    monkeypatch.setattr(experiment, "train_toy_model", untrained)
    found = json.loads(json.dumps(context_contents()))
    stored = results.load("context_contents")
    assert found.keys() <= stored.keys()
    assert [run["model"] for run in found["runs"]] == [
        run["model"] for run in stored["runs"] if run["seed"] == 0
    ]
    for run in stored["runs"]:
        assert run["changes"].keys() == KINDS.keys()
        assert all(len(clauses) == 2 for clauses in run["changes"].values())


def untrained(make, seed):
    torch.manual_seed(seed)
    return make(len(SOURCE), len(TARGET)), []
