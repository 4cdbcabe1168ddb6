"""Figures, tables, exercises and experiments of chapter 11."""

import math
from itertools import pairwise, product

import pytest
import torch
from drawn import cells
from torch import nn

from attnbook.analysis.complexity import count
from attnbook.analysis.leaks import affected_outputs
from attnbook.core import results
from attnbook.experiments import first_token, layer_cost, weights_tell
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
)
from attnbook.pages.exercises.checking import find
from attnbook.pages.figures import ch11
from attnbook.toy.data import held_out_pairs
from attnbook.toy.last_position import (
    LAYER_STACKS,
    contiguous_dilations,
    exponential_dilations,
)
from attnbook.toy.models import load_toy_model

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

# Paths


def test_every_step_of_a_path_is_a_connection():
    for name, (edges, path) in ch11.PATHS.items():
        assert path[0] == (0, 0), name
        assert path[-1][0] == ch11.PLACES - 1, name
        assert set(pairwise(path)) <= set(edges), name


def test_no_way_is_shorter():
    for name, (edges, path) in ch11.PATHS.items():
        reached, steps = {(0, 0)}, 0
        while path[-1] not in reached:
            reached |= {end for start, end in edges if start in reached}
            steps += 1
        assert steps == len(path) - 1, name


def test_paths_are_drawn_with_their_lengths():
    figure = ch11.paths_figure()
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == [
        "recurrent: 9 steps",
        "convolutions, k = 3: 4 steps",
        "dilated convolutions, k = 3: 2 steps",
        "self-attention: 1 step",
    ]
    for ax, (edges, path) in zip(figure.axes, ch11.PATHS.values(), strict=True):
        (dark,) = (line for line in ax.get_lines() if line.get_linewidth() == 2.5)
        assert list(zip(*dark.get_data(), strict=True)) == path
        pale = [line for line in ax.get_lines() if line.get_linewidth() == 1.2]
        assert len(pale) == len(edges)


# Costs


def made_up(kind, n, d):
    factor = 1 + list(ch11.KINDS).index(kind)
    return {"kind": kind, "n": n, "d": d, "seconds": factor * n**2 * d, "bytes": n}


@pytest.fixture
def _costs(stored):
    sizes = [(4, 256), (8, 256), (8, 64)]
    runs = [made_up(kind, *size) for kind in ch11.KINDS for size in sizes]
    stored("layer_cost", runs=runs, width=256, length=8)


@pytest.mark.usefixtures("_costs")
def test_costs_are_shown_with_their_slope():
    found = ch11.costs_table("seconds", "ms")
    heads = [head.name for head in found.columns]
    assert heads == ["layer", "n = 4", "n = 8", "slope"]
    rows = zip(ch11.KINDS, found.rows(), strict=True)
    for factor, (kind, row) in enumerate(rows, 1):
        times = [factor * n**2 * 256_000 for n in (4, 8)]
        assert row[0] == kind
        assert row[1:] == pytest.approx((*times, 2))
    assert ch11.costs_table("bytes", "MB").rows()[0][1:3] == (4e-6, 8e-6)


@pytest.mark.usefixtures("_costs")
def test_work_and_times_are_drawn():
    work, clock = ch11.work_figure().axes
    lines = {line.get_label(): line for line in work.get_lines()}
    d, x = 256, {n: torch.zeros(1, n, 256) for n in (4, 8)}
    layers = {
        "self-attention": SelfAttentionLayer(d, 4),
        "GRU": RecurrentLayer(d),
        "convolution": ConvolutionLayer(d, 3),
    }
    for kind, layer in layers.items():
        counted = [count(lambda n=n, layer=layer: layer(x[n])) / 1e6 for n in (4, 8)]
        assert list(lines[kind].get_ydata()) == pytest.approx(counted)
    assert list(lines["no projections"].get_ydata()) == pytest.approx(
        [2 * n * n * d / 1e6 for n in (4, 8)]
    )
    for line in clock.get_lines():
        expected = [1000 * made_up(line.get_label(), n, d)["seconds"] for n in (4, 8)]
        assert list(line.get_ydata()) == pytest.approx(expected)


def test_stored_costs_say_what_the_chapter_says():
    attention, gru = (ch11.runs_of(k, d=256) for k in ("self-attention", "GRU"))
    assert [run["n"] for run in gru] == list(layer_cost.LENGTHS)
    for fast, slow in zip(attention, gru, strict=True):
        if fast["n"] != 2048:  # where they are about equal
            assert (fast["seconds"] < slow["seconds"]) == (fast["n"] < 2048)
    assert ch11.slope(attention, "n", "seconds") > 1.6
    assert 0.8 < ch11.slope(gru, "n", "seconds") < 1.2
    for kind in ch11.KINDS:
        runs = ch11.runs_of(kind, d=256)
        assert ch11.slope(runs, "n", "bytes") < 1.1
        cheapest = ch11.runs_of("convolution", d=256)
        # Dilated or not, the operations are the same; the clock varies a little.
        as_many = kind in ("convolution", "dilated")
        for run, least in zip(runs, cheapest, strict=True):
            assert least["seconds"] < (1.5 if as_many else 1.0) * run["seconds"]


def test_the_time_for_one_sequence_of_a_batch(stored):
    runs = [
        {"kind": kind, "batch": b, "seconds": b * f / 1000}
        for kind, f in (("self-attention", 2), ("GRU", 3))
        for b in (1, 4)
    ]
    stored("layer_batches", runs=runs)
    assert ch11.batches_table().rows() == [
        ("self-attention", 2, 2),
        ("GRU", 3, 3),
    ]


def test_a_cost_is_measured():
    found = layer_cost.measure_layer("convolution", 64, 64)
    assert found["seconds"] > 0
    assert found["bytes"] >= 64 * 64 * 4  # the output at least


# Reach


def test_reach_is_drawn_layer_by_layer():
    seen = {
        "one": torch.tensor([[False, True], [True, True]]),
        "other": torch.tensor([[True, False]]),
    }
    axes = ch11.reach_figure(seen).axes
    for ax, (kind, rows) in zip(axes, seen.items(), strict=True):
        assert ax.get_title("left") == kind
        assert torch.equal(cells(ax).flip(0) > 0, rows)  # the first layer lowest
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == [str(i) for i in range(len(rows), 0, -1)]


# The first symbol

WAYS = {  # at 8 and 16 places, however many layers there are
    "self-attention": [1, 1],
    "dilated": [2, 2],
    "contiguous": [4, 8],
    "GRU": [8, 16],
}


@pytest.fixture
def _recall(stored):
    def runs(kinds, share):
        return [
            {
                "kind": kind,
                "n": n,
                "seed": seed,
                "layers": 3,
                "right": share + seed / 10,
            }
            for kind in kinds
            for n in (8, 16)
            for seed in (0, 1)
        ]

    stored("first_token", runs=runs(LAYER_STACKS, 0.2), steps=7)
    stored("first_token_longer", runs=runs(["contiguous", "GRU"], 0.6), steps=9)
    stored("first_token_room", runs=runs(["contiguous"], 0.4), steps=7)


@pytest.mark.usefixtures("_recall")
def test_recall_is_shown_seed_by_seed():
    found = ch11.recall_table()
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
def test_the_way_is_as_long_as_the_state_or_the_stack():
    rows = ch11.hops_table().rows()
    assert rows == [(kind, *WAYS[kind]) for kind in LAYER_STACKS]
    for n in (8, 16, 28, 32, 64):  # all ways to pick 0, 1 or 2 dilations a layer
        ways = product(*((0, d, 2 * d) for d in exponential_dilations(n)))
        least = min(sum(map(bool, way)) for way in ways if sum(way) == n - 1)
        assert ch11.hops({"kind": "dilated", "n": n}) == least


@pytest.mark.usefixtures("_recall")
def test_recall_is_drawn_against_the_way():
    figure = ch11.recall_figure()
    for ax, kind in zip(figure.axes, LAYER_STACKS, strict=True):
        assert ax.get_title("left") == kind
        _, longer, dots = ax.get_lines()
        assert list(dots.get_xdata()) == [way for way in WAYS[kind] for _ in (0, 1)]
        assert list(dots.get_ydata()) == pytest.approx([20, 30, 20, 30])
        shares = [60, 70, 60, 70] if kind in ("contiguous", "GRU") else []
        assert list(longer.get_ydata()) == pytest.approx(shares)


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
    *both, encoder = ch11.weights_tell_table().rows()
    assert len(both) == 4
    assert encoder[1] is None
    for row in (*both, encoder):
        assert row[2] == pytest.approx((60, 50, 70))
        assert row[3] == pytest.approx((0.2, 0.1, 0.3))
        assert row is encoder or row[1] == pytest.approx((40, 30, 50))


def test_stored_weights_say_what_the_chapter_says():
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


# Exercises


def test_the_cheaper_layers_are_those_that_count_less():
    n, d = 64, 512
    x = torch.zeros(1, n, d)
    layers = {
        "a": RecurrentLayer(d, nn.RNN),
        "b": RecurrentLayer(d),
        "d": ConvolutionLayer(d, 3),
        "e": ConvolutionLayer(d, 7),
        "f": ConvolutionLayer(d, 3, separable=True),
    }
    attention = SelfAttentionLayer(d, 8)
    limit = count(lambda: attention(x))
    cheaper = [
        k for k, layer in layers.items() if count(lambda la=layer: la(x)) < limit
    ]
    assert "".join(cheaper) == find("ex11_cheaper").reference  # an LSTM (c): 8 n d²


def test_layers_are_as_many_as_the_stacks_have():
    layers = find("ex11_layers").reference
    for n in (1, 2, 3, 8, 9, 10, 27, 28, 1000):
        for k in (2, 3, 5):
            assert layers(n, k, False) == len(contiguous_dilations(n, k))
            assert layers(n, k, True) == len(exponential_dilations(n, k))


def test_half_of_the_work_grows_with_the_square():
    half, d, d_ff = find("ex11_half").reference, 64, 128
    n = half(d, d_ff)
    rest = 4 * n * d * d + 2 * n * d * d_ff
    assert 2 * n * n * d == rest


def test_the_bug_looks_ahead_and_the_reference_does_not():
    exercise = find("ex11_future")
    (bug, _), *_ = exercise.mistakes
    for x, weight, dilation in exercise.inputs():
        for form, leaks in ((exercise.reference, False), (bug, True)):
            moved = affected_outputs(lambda x, f=form: f(x, weight, dilation), x, 5)  # noqa: B023
            assert form(x, weight, dilation).shape == x.shape
            assert moved[:5].any() == leaks


def test_a_head_looks_k_back():
    exercise = find("ex11_look_back")
    for codes, k in exercise.inputs():
        weights = exercise.reference(codes, k)
        assert weights.diagonal(-k).min() > 0.999
        assert math.isclose(weights[-1].sum(), 1)
