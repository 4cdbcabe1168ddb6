"""Figures and tables of laboratory page 5: they show what was measured."""

from statistics import fmean

import pytest
import torch
from drawn import cells

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.leaks import influence
from attnbook.core import results
from attnbook.course.ch05 import lab as lab05
from attnbook.toy.tasks import random_symbols

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# The task with two questions


def test_table_of_heads_shows_every_seed(stored):
    runs = [
        {"heads": h, "seed": seed, "last": seed / 10, "before": h / 10}
        for h in (1, 2)
        for seed in (3, 4)
    ]
    stored("heads", runs=runs)
    groups = lab05.seeds_table().groups
    assert groups["1 head"] == [("3", 30, 10), ("4", 40, 10)]
    assert groups["2 heads"] == [("3", 30, 20), ("4", 40, 20)]


def test_weights_by_distance_are_means_from_the_third_position_on():
    weights = torch.zeros(2, 2, 5, 5)
    for i in range(2, 5):
        weights[:, 0, i, i - 1] = 0.75
        weights[:, 0, i, i - 2] = 0.25
        weights[0, 1, i, i - 2] = 1.0  # in one sequence of two
    weights[:, :, 1, 0] = 1.0  # doesn't count
    groups = lab05.offsets_table({"a model": weights}).groups
    assert groups == {"a model": [("head 1", 75, 25), ("head 2", 0, 50)]}


def test_maps_of_four_heads_show_their_weights():
    g = torch.Generator().manual_seed(0)
    weights = torch.rand(4, 6, 6, generator=g)
    *axes, _ = lab05.four_heads_figure(weights, random_symbols(1, 6, g)[0]).axes
    for n, (ax, shown) in enumerate(zip(axes, weights, strict=True), 1):
        torch.testing.assert_close(cells(ax), 100 * shown)
        assert ax.get_title("left") == f"head {n}"


# The wrong split


def test_influence_is_drawn_against_its_largest_entry():
    matrices = {"a": torch.tensor([[2.0, 0], [1, 4]]), "b": torch.eye(3)}
    axes = lab05.influence_figure(matrices).axes
    torch.testing.assert_close(cells(axes[0]), torch.tensor([[0.5, 0], [0.25, 1]]))
    assert [ax.get_title("left") for ax in axes] == ["a", "b"]


@pytest.mark.parametrize(("length", "n_heads"), [(12, 4), (12, 2), (8, 8), (6, 1)])
def test_the_wrong_split_confines_an_output_to_its_block(length, n_heads):
    torch.manual_seed(0)
    layer, x = WrongSplit(8 * n_heads, n_heads), torch.randn(1, length, 8 * n_heads)
    matrix = influence(lambda x: layer(x, x, x), x)
    block = length // n_heads
    for i in range(length):
        first = i // block * block
        assert matrix[i].nonzero().flatten().tolist() == [*range(first, first + block)]


def test_table_of_splits_shows_means_over_positions(stored):
    runs = [
        {"split": split, "length": 2, "seed": seed, "right": [share, share / 2]}
        for split, share in (("right", 1.0), ("wrong", 0.2))
        for seed in (0, 1)
    ]
    stored("wrong_split", runs=runs)
    shares = [row[1] for row in lab05.split_table().rows()]
    assert shares == [pytest.approx((75, 75, 75)), pytest.approx((15, 15, 15))]


def test_stored_runs_say_what_the_page_says():
    for run in results.load("heads")["runs"]:
        worse, better = sorted((run["last"], run["before"]))
        assert better > 0.99
        assert (worse < 0.1) == (run["heads"] == 1)
    for run in results.load("wrong_split")["runs"]:
        right = fmean(run["right"])
        assert (right > 0.99) if run["split"] == "right" else (right < 0.1)


# The translator

ABLATION = {
    "loss": 2.0,
    "heads": [
        {"kind": kind, "layer": layer, "head": head, "rise": rise + layer + head / 10}
        for kind, rise in (("encoder self-attention", 0), ("cross-attention", 10))
        for layer in (0, 1)
        for head in (0, 1)
    ],
    "layers": [
        {"kind": kind, "layer": layer, "rise": rise + layer}
        for kind, rise in (("encoder self-attention", 0), ("cross-attention", 10))
        for layer in (0, 1)
    ],
    "together": {"6": -0.01, "12": 0.25},
    "distances": [-1, 0],
    "offsets": [
        {"layer": layer, "head": head, "offsets": [layer / 4, head / 4], "eos": 0.5}
        for layer in (0, 1)
        for head in (0, 1)
    ],
}


@pytest.fixture
def ablation(stored):
    """A stored result of four heads of two kinds."""
    stored("head_ablation", **ABLATION)


@pytest.mark.usefixtures("ablation")
def test_a_row_for_each_head_of_the_encoder_with_its_rise():
    made = lab05.offsets_by_head_table()
    assert [column.name for column in made.columns[1:3]] == ["−1", "0"]
    assert made.groups == {
        "layer 1": [("1", 0, 0, 50, 0), ("2", 0, 25, 50, 0.1)],
        "layer 2": [("1", 25, 0, 50, 1), ("2", 25, 25, 50, 1.1)],
    }


@pytest.mark.usefixtures("ablation")
def test_rises_are_drawn_in_thousandths_by_layer_and_head():
    left, right, _ = lab05.ablation_figure().axes
    wanted = torch.tensor([[0.0, 100], [1000, 1100]])
    torch.testing.assert_close(cells(left), wanted)
    torch.testing.assert_close(cells(right), wanted + 10_000)
    assert [t.get_text() for t in left.get_yticklabels()] == ["1", "2"]
    assert left.get_ylabel() == "layer"


@pytest.mark.usefixtures("ablation")
def test_heads_removed_together_and_layer_by_layer():
    assert lab05.together_table().rows() == [(6, -0.01), (12, 0.25)]
    made = lab05.layers_table()
    assert [c.name for c in made.columns] == [
        "layer",
        "encoder self-attention",
        "cross-attention",
    ]
    assert made.rows() == [("1", 0, 10), ("2", 1, 11)]
