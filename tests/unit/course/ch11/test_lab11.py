"""Tables and figures of laboratory page 11, and the stored results behind them."""

import pytest
import torch
from drawn import cells

from attnbook.core import results
from attnbook.course.ch11 import (
    experiment_first_token as first_token,
)
from attnbook.course.ch11 import (
    experiment_induction as induction,
)
from attnbook.course.ch11 import (
    experiment_layer_cost as layer_cost,
)
from attnbook.course.ch11 import (
    experiment_weights_tell as weights_tell,
)
from attnbook.course.ch11 import figures as ch11
from attnbook.course.ch11 import lab as lab11
from attnbook.toy.data import held_out_pairs
from attnbook.toy.last_position import (
    LAYER_STACKS,
    contiguous_dilations,
    exponential_dilations,
)
from attnbook.toy.models import load_toy_model

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

# Costs


def made_up(kind, n, d):
    factor = 1 + lab11.KINDS.index(kind)
    return {"kind": kind, "n": n, "d": d, "seconds": factor * n**2 * d, "bytes": n}


@pytest.fixture
def _costs(stored):
    sizes = [(4, 256), (8, 256), (8, 64)]
    runs = [made_up(kind, *size) for kind in lab11.KINDS for size in sizes]
    stored("layer_cost", runs=runs, width=256, length=8)


@pytest.mark.usefixtures("_costs")
def test_costs_are_shown_with_their_slope():
    found = lab11.costs_table("seconds", "ms")
    heads = [head.name for head in found.columns]
    assert heads == ["layer", "n = 4", "n = 8", "slope"]
    for factor, (kind, row) in enumerate(
        zip(lab11.KINDS, found.rows(), strict=True), 1
    ):
        times = [factor * n**2 * 256_000 for n in (4, 8)]
        assert row[0] == kind
        assert row[1:] == pytest.approx((*times, 2))
    assert lab11.costs_table("bytes", "MB").rows()[0][1:3] == (4e-6, 8e-6)


@pytest.mark.usefixtures("_costs")
def test_costs_are_shown_by_width_as_well():
    found = lab11.costs_table("seconds", "ms", by="d")
    heads = [head.name for head in found.columns]
    assert heads == ["layer", "d = 64", "d = 256", "slope"]
    times = [8**2 * d * 1000 for d in (64, 256)]
    assert found.rows()[0][1:] == pytest.approx((*times, 1))


def test_stored_costs_say_what_the_page_says():
    runs = {kind: ch11.runs_of(kind, d=256) for kind in lab11.KINDS}
    assert [run["n"] for run in runs["GRU"]] == list(layer_cost.LENGTHS)
    assert lab11.slope(runs["self-attention"], "n", "seconds") > 1.6
    assert 0.8 < lab11.slope(runs["GRU"], "n", "seconds") < 1.2
    for of_kind in runs.values():
        assert lab11.slope(of_kind, "n", "bytes") < 1.1


def test_the_time_for_one_sequence_of_a_batch(stored):
    runs = [
        {"kind": kind, "batch": b, "seconds": b * f / 1000}
        for kind, f in (("self-attention", 2), ("GRU", 3))
        for b in (1, 4)
    ]
    stored("layer_batches", runs=runs)
    assert lab11.batches_table().rows() == [
        ("self-attention", 2, 2),
        ("GRU", 3, 3),
    ]


def test_a_cost_is_measured():
    found = layer_cost.measure_layer("convolution", 64, 64)
    assert found["seconds"] > 0
    assert found["bytes"] >= 64 * 64 * 4  # the output at least


# Receptive fields


def test_receptive_fields_are_drawn_layer_by_layer():
    seen = {
        "one": torch.tensor([[False, True], [True, True]]),
        "other": torch.tensor([[True, False]]),
    }
    axes = lab11.receptive_field_figure(seen).axes
    for ax, (kind, rows) in zip(axes, seen.items(), strict=True):
        assert ax.get_title("left") == kind
        assert torch.equal(cells(ax).flip(0) > 0, rows)  # the first layer lowest
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == [str(i) for i in range(len(rows), 0, -1)]


# The first symbol


@pytest.fixture
def _recall(stored):
    def runs(kinds, share):
        return [
            {"kind": kind, "n": n, "seed": seed, "right": share + seed / 10}
            for kind in kinds
            for n in (8, 16)
            for seed in (0, 1)
        ]

    stored("first_token", runs=runs(LAYER_STACKS, 0.2), steps=7)
    stored("first_token_longer", runs=runs(["contiguous", "GRU"], 0.6), steps=9)
    stored("first_token_room", runs=runs(["contiguous"], 0.4), steps=7)


@pytest.mark.usefixtures("_recall")
def test_recall_is_shown_seed_by_seed():
    found = lab11.recall_table()
    assert [head.name for head in found.columns] == ["layer", "n = 8", "n = 16"]
    assert dict(found.groups) == {
        "7 updates, just enough layers": [
            (kind, "20 · 30", "20 · 30") for kind in LAYER_STACKS
        ],
        "9 updates, just enough layers": [
            (kind, "60 · 70", "60 · 70") for kind in ("contiguous", "GRU")
        ],
        "7 updates, half as many layers again": [("contiguous", "40 · 50", "40 · 50")],
    }


@pytest.mark.usefixtures("_recall")
def test_path_lengths_are_shown():
    rows = lab11.path_lengths_table().rows()
    assert dict((row[0], row[1:]) for row in rows) == {
        kind: tuple(ch11.path_length(kind, n) for n in (8, 16)) for kind in LAYER_STACKS
    }


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


def test_induction_is_shown_for_both_trainings(stored):
    def runs(kinds):
        return [
            {"kind": kind, "seed": seed, "accuracy": 0.1 + seed / 10}
            for kind in kinds
            for seed in (0, 1)
        ]

    stored("induction", runs=runs(["self-attention", "GRU"]), steps=400)
    stored("induction_longer", runs=runs(["GRU"]), steps=2000)
    found = lab11.induction_table()
    spread = pytest.approx((15, 10, 20))
    assert dict(found.groups) == {
        "400 updates": [("self-attention", spread), ("GRU", spread)],
        "2,000 updates": [("GRU", spread)],
    }


def test_only_self_attention_learned_induction():
    for name in ("induction", "induction_longer"):
        for run in results.load(name)["runs"]:
            learned = run["kind"] == "self-attention"
            assert run["accuracy"] > 0.99 if learned else run["accuracy"] < 0.13


def test_every_kind_of_layer_sees_the_whole_sequence():
    for kind, make in induction.LAYERS.items():
        torch.manual_seed(0)
        x = torch.randn(1, induction.N, induction.WIDTH, requires_grad=True)
        last = make()(x)[0, -1].square().sum()
        (gradient,) = torch.autograd.grad(last, x)
        assert (gradient[0] != 0).any(-1).all(), kind


def test_induction_is_trained_and_measured():
    assert 0 < induction.induction_accuracy("GRU", seed=0, steps=2) < 0.2


# What weights tell


def test_what_weights_tell_is_shown_with_ranges(stored):
    names = ["hidden", "replaced", "hidden_others", "replaced_others"]
    tests = {"transformer": [*names, "encoder_others"], "bahdanau": names}
    runs = [
        {"model": model, "seed": seed}
        | {
            test: {
                "correlation": 0.1 + seed / 10,
                "first": 0.3 + 0.2 * ("_others" in test) + seed / 10,
            }
            for test in of_model
        }
        for model, of_model in tests.items()
        for seed in (0, 1, 2)
    ]
    stored("weights_tell", runs=runs)
    *both, encoder = lab11.weights_tell_table().rows()
    assert len(both) == 4
    assert encoder[1] is None
    for row in (*both, encoder):
        assert row[2] == pytest.approx((60, 50, 70))
        assert row[3] == pytest.approx((0.2, 0.1, 0.3))
        assert row is encoder or row[1] == pytest.approx((40, 30, 50))


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
