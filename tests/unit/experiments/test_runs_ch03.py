"""What chapter 3's experiments measure, at small size."""

import torch

from attnbook.core import results
from attnbook.toy.data import held_out_pairs, toy_batches
from attnbook.toy.training import fit
from experiments import ch03


def test_each_largest_weight_is_on_the_output_the_input_or_elsewhere():
    pair = held_out_pairs(1)[0]
    n = len(pair.source) + 1  # with EOS

    def kinds(positions):
        return ch03.most_attended(torch.eye(n)[torch.tensor(positions)][None], [pair])

    by_output, by_input = [*pair.alignment, n - 1], [n - 1, *pair.alignment]
    assert {tuple(found.values()) for found in kinds(by_output).values()} == {(1, 0, 0)}
    found = kinds(by_input)
    assert found["verb"] == {"output": 0, "input": 1, "another": 0}
    assert found["noun"] == {"output": 0, "input": 0.5, "another": 0.5}  # y_0 is BOS


def test_a_frozen_encoder_stays_as_it_is_and_the_rest_learns():
    encoder = ch03.encoder_of("untrained", 0)
    model = ch03.with_frozen_encoder(encoder, 1)
    before = {name: w.clone() for name, w in model.state_dict().items()}
    given = [w.clone() for w in encoder.parameters()]
    fit(model, toy_batches(0), 1, 1e-2)
    for name, w in model.state_dict().items():
        if not name.startswith("score."):  # one position needs no score
            assert torch.equal(w, before[name]) == name.startswith("encoder."), name
    for own, kept in zip(model.encoder.parameters(), given, strict=True):
        assert torch.equal(own, kept)


# Costs


def test_calls_are_timed_in_turn_after_a_round_to_warm_up():
    ticks, called = iter(range(100)), []
    calls = {name: lambda name=name: called.append(name) for name in "ab"}
    found = ch03.time_in_turn(calls, 2, lambda: next(ticks))
    assert called == [*"ababab"]
    assert found == {"a": [1, 1], "b": [1, 1]}


def test_every_model_is_timed(monkeypatch):
    few = {name: ch03.TIMED[name] for name in ("dot", "dot, input feeding")}
    monkeypatch.setattr(ch03, "TIMED", few)
    found, stored = ch03.step_cost(repeats=3), results.load("step_cost")
    assert {key: found[key] for key in "BST"} == {key: stored[key] for key in "BST"}
    parameters = {run["model"]: run["parameters"] for run in stored["runs"]}
    for run in found["runs"]:
        assert run["parameters"] == parameters[run["model"]]
        assert run["low"] <= run["median"] <= run["high"]


# Dictionaries of captions


class Said:
    """A translator of two words, the first of which has two subwords."""

    class subwords:  # noqa: N801
        @staticmethod
        def pieces(text):
            return {"en": ["▁big", "▁dog"], "de": ["▁gro", "ß", "▁Hund"]}[text]


class Both:
    """Links big with groß and dog with Hund."""

    @staticmethod
    def between(source, target):
        assert (source, target) == (["big", "dog"], ["groß", "Hund"])
        return {0: 0, 1: 1}


def test_the_step_that_reads_a_word_comes_after_the_one_that_predicts_it(monkeypatch):
    """Step i predicts subword i and has read subword i - 1."""
    weights = torch.zeros(1, 2, 4, 3)  # one layer of two heads; EOS in both
    predicts, reads = [0, 0, 1, 2], [2, 0, 0, 1]
    for head, places in enumerate((predicts, reads)):
        weights[0, head, range(4), places] = 1.0
    monkeypatch.setattr(ch03, "cross_maps", lambda *_: weights)
    rows = ch03.compare(Said, Both, "en", "de")
    assert [row["output"].tolist() for row in rows] == [[[True, True]], [[True, False]]]
    assert [row["input"].tolist() for row in rows] == [[[True, True]], [[False, True]]]
    assert [row["diagonal"] for row in rows] == [True, True]
