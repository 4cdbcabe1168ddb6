"""Tables and figures of laboratory page 11, and the stored results behind them."""

import pytest
import torch

from attnbook.core import results
from attnbook.course.ch11 import figures as ch11
from attnbook.course.ch11 import lab as lab11
from attnbook.toy.data import held_out_pairs
from attnbook.toy.last_position import (
    LAYER_STACKS,
    contiguous_dilations,
    exponential_dilations,
)
from attnbook.toy.models import load_toy_model
from experiments import ch11_first_token as first_token
from experiments import ch11_induction as induction
from experiments import ch11_layer_cost as layer_cost
from experiments import ch11_weights_tell as weights_tell

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

# Costs


def test_stored_costs_say_what_the_page_says():
    runs = {kind: ch11.runs_of(kind, d=256) for kind in lab11.KINDS}
    assert [run["n"] for run in runs["GRU"]] == list(layer_cost.LENGTHS)
    assert lab11.slope(runs["self-attention"], "n", "seconds") > 1.6
    assert 0.8 < lab11.slope(runs["GRU"], "n", "seconds") < 1.2
    for of_kind in runs.values():
        assert lab11.slope(of_kind, "n", "bytes") < 1.1


def test_a_cost_is_measured():
    found = layer_cost.measure_layer("convolution", 64, 64)
    assert found["seconds"] > 0
    assert found["bytes"] >= 64 * 64 * 4  # the output at least


# Receptive fields


# The first symbol


def test_stored_runs_are_complete():
    seeds = len(first_token.SEEDS)
    for kind in LAYER_STACKS:
        by_length = ch11.recall_runs(kind)
        assert list(by_length) == list(first_token.LENGTHS)
        for n, runs in by_length.items():
            assert len(runs) == seeds
            stacks = {
                "contiguous": contiguous_dilations(n),
                "dilated": exponential_dilations(n),
            }
            assert runs[0]["layers"] == len(stacks.get(kind, [1]))
    for runs in ch11.recall_runs("self-attention").values():
        assert min(run["right"] for run in runs) > 0.9
    for n, runs in ch11.recall_runs("contiguous", "first_token_room").items():
        assert [run["layers"] for run in runs] == [{8: 6, 16: 12}[n]] * seeds
        for run in runs:
            assert (run["right"] > 0.9) == (n == 8)


def test_a_reader_is_trained_and_measured():
    found = first_token.train_last_position(
        LAYER_STACKS["self-attention"], 4, seed=0, steps=200
    )
    assert found["right"] > 0.9
    assert len(found["loss"]) == 10
    assert found["loss"][-1] < found["loss"][0]


# Induction


def test_only_self_attention_learned_induction():
    for name in ("induction", "induction_longer"):
        for run in results.load(name)["runs"]:
            learned = run["kind"] == "self-attention"
            assert run["accuracy"] > 0.99 if learned else run["accuracy"] < 0.13


def test_every_kind_of_layer_sees_the_whole_sequence():
    for kind, make in induction.LAYERS.items():
        torch.manual_seed(0)
        x = torch.randn(1, induction.N, induction.WIDTH, requires_grad=True)
        last = make(induction.WIDTH)(x)[0, -1].square().sum()
        (gradient,) = torch.autograd.grad(last, x)
        assert (gradient[0] != 0).any(-1).all(), kind


def test_a_gru_learns_induction_late_and_a_wide_one_sooner():
    last = {}
    for run in results.load("induction_updates")["runs"]:
        last.setdefault((run["kind"], run["d"]), []).append(run["accuracy"][-1])
        steps = induction.SLOW_STEPS // induction.EVERY
        assert len(run["accuracy"]) == steps
    assert len(last) == len(induction.SLOW)
    assert min(last["GRU", 256]) > 0.6 > max(last["GRU", 64])
    assert min(last["GRU", 64]) > 0.35 > 0.13 > max(last["convolution", 64])


def test_only_the_gru_keeps_a_parity_after_400_updates():
    for run in results.load("running_parity")["runs"]:
        if run["kind"] == "GRU":
            assert run["accuracy"] > 0.99
        if run["kind"] == "self-attention":
            assert run["accuracy"] < 0.55


@pytest.mark.parametrize("kind", induction.TAGGERS)
def test_every_kind_answers_at_each_position(kind):
    ids = torch.randint(1, 17, (2, induction.N))
    assert induction.TAGGERS[kind]()(ids).shape == (2, induction.N, 1, 17)


def test_induction_is_measured_again_and_again(monkeypatch):
    monkeypatch.setattr(induction, "EVERY", 2)
    assert len(induction.accuracy_over_updates("GRU", 8, seed=0, steps=5)) == 2


def test_induction_is_trained_and_measured():
    assert 0 < induction.induction_accuracy("GRU", seed=0, steps=2) < 0.2


# What weights tell


def test_stored_weights_say_what_the_page_says():
    runs = results.load("weights_tell")["runs"]
    assert len(runs) == 6
    for run in runs:
        for test in ("hidden", "replaced"):
            assert run[test]["first"] > 0.95
        hidden, replaced = run["hidden_others"], run["replaced_others"]
        assert 0.6 < hidden["first"] < 0.75
        assert replaced["first"] < 0.5
        assert hidden["correlation"] > 0.75 > 0.5 > replaced["correlation"]


def test_stored_weights_are_of_the_model_that_is_shipped():
    stored = results.load("weights_tell")
    pairs = held_out_pairs(stored["clauses"], 5)
    model = load_toy_model("transformer")
    run = next(
        r for r in stored["runs"] if r["model"] == "transformer" and r["seed"] == 0
    )
    assert run["parameters"] == sum(p.numel() for p in model.parameters())
    found = weights_tell.mean_agreement(
        [weights_tell.transformer_tables(model, p) for p in pairs]
    )
    for test, numbers in found.items():
        assert numbers["correlation"] == pytest.approx(
            run[test]["correlation"], abs=0.15
        )


def test_the_symbol_to_look_for_is_moved_to_the_front():
    ids, targets = torch.tensor([[3, 1, 2, 3], [5, 6, 4, 6]]), torch.tensor([[1], [4]])
    moved, same = induction.query_first((ids, targets))
    assert moved.tolist() == [[3, 3, 1, 2], [6, 5, 6, 4]]
    assert torch.equal(same, targets)
