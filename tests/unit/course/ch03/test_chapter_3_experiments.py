"""The experiments of chapter 3: what they measure, at small size."""

import torch

from attnbook.course.ch03 import experiment_alignment_two_ways as two_ways
from attnbook.course.ch03 import experiment_step_cost as cost
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import VERBS
from attnbook.toy.metrics import alignment_accuracy


def weights_at(positions, length):
    """Weights of one sentence with all weight on one position at each step."""
    return torch.eye(length)[torch.tensor(positions)][None]  # (1, T, S)


def test_each_largest_weight_is_on_the_output_the_input_or_elsewhere():
    pair = held_out_pairs(1)[0]
    n = len(pair.source) + 1  # with EOS
    by_output = weights_at([*pair.alignment, n - 1], n)
    kinds = two_ways.most_attended(by_output, [pair])
    assert {tuple(found.values()) for found in kinds.values()} == {(1, 0, 0)}
    by_input = weights_at([n - 1, *pair.alignment], n)
    kinds = two_ways.most_attended(by_input, [pair])
    verb = pair.source[pair.alignment[-1]]
    assert verb in VERBS
    assert kinds["verb"] == {"output": 0, "input": 1, "another": 0}
    assert kinds["noun"] == {"output": 0, "input": 0.5, "another": 0.5}  # y_0 is BOS


def test_a_shift_by_one_compares_each_word_with_the_next_step():
    pairs = held_out_pairs(2, 5)
    length = max(len(pair.source) for pair in pairs) + 1
    rows = [
        [0, *(j or 0 for j in p.alignment), *[0] * (length - 1 - len(p.alignment))]
        for p in pairs
    ]
    weights = torch.cat([weights_at(row, length) for row in rows])
    assert alignment_accuracy(weights[:, 1:], pairs) == 1
    assert alignment_accuracy(weights, pairs) < 0.5


def test_every_kind_of_word_is_known():
    words = ("farmer", "brave", "sees", "this", "an")
    kinds = [two_ways.kind_of(word) for word in words]
    assert kinds == ["noun", "adjective", "verb", "determiner", "determiner"]


def test_one_short_run_has_all_entries(monkeypatch):
    monkeypatch.setattr(two_ways, "SEEDS", (0,))
    monkeypatch.setattr(two_ways, "MODELS", {"dot": two_ways.MODELS["dot"]})
    train = two_ways.train_toy_model
    monkeypatch.setattr(two_ways, "train_toy_model", lambda *a: train(*a, steps=2))
    monkeypatch.setattr(two_ways, "held_out_pairs", lambda n: held_out_pairs(n, 8))
    [run] = two_ways.alignment_two_ways()["runs"]
    assert (run["model"], run["seed"], run["exact"]) == ("dot", 0, 0)
    for shares in run["kinds"].values():
        assert abs(sum(shares.values()) - 1) < 2e-4


def test_quartiles_are_in_order_and_every_model_is_timed():
    found = cost.step_cost(repeats=3)
    assert found["repeats"] == 3
    assert (found["B"], found["S"]) == (64, found["T"])
    runs = {run["model"]: run for run in found["runs"]}
    assert [*runs] == [*cost.MODELS]
    for run in runs.values():
        assert 0 < run["low"] <= run["median"] <= run["high"]
    larger = runs["dot, input feeding"]["parameters"] - runs["dot"]["parameters"]
    assert larger == 3 * 128 * 128  # the columns that read the attentional state
