"""Figures and tables of laboratory page 4."""

import pytest
import torch

from attnbook.course.ch04 import (
    experiment_fused_cost as fused_cost,
)
from attnbook.course.ch04 import (
    experiment_look_up as look_up,
)
from attnbook.course.ch04 import figures as ch04
from attnbook.course.ch04 import lab as lab04
from attnbook.course.kit.html_tables import Spread

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# At the start


def test_a_position_prefers_itself_unless_it_has_two_matrices():
    found = lab04.own_position(64, draws=100)
    assert found["Q = K = X"][0] > 0.95
    assert found["one matrix"][1] > 0.9
    assert found["two matrices"] == pytest.approx((1 / 6, 1 / 6), abs=0.05)
    assert found == lab04.own_position(64, draws=100)


def test_own_position_table_shows_per_cent_and_weights():
    made = lab04.own_position_table((4, 16))
    found = {d: lab04.own_position(d)["one matrix"] for d in (4, 16)}
    (row,) = [row for row in made.rows() if row[0] == "one matrix"]
    wanted = *(100 * found[d][0] for d in found), *(found[d][1] for d in found)
    assert row[1:] == pytest.approx(wanted)


@pytest.mark.parametrize(("d_k", "scale"), [(4, 1.0), (8, 0.25)])
def test_query_gradients_are_those_of_autograd(d_k, scale):
    found = lab04.query_gradients(d_k, scale, n_keys=3, draws=5)
    for size, q, k in zip(found, *ch04.random_pairs(d_k, 3, 5), strict=True):
        jacobian = torch.autograd.functional.jacobian(
            lambda x, k=k: (scale * k @ x).softmax(0), q[0]
        )  # (3, d_k)
        assert size.item() == pytest.approx(jacobian.norm().item(), rel=1e-4)


def test_start_table_has_a_group_of_rows_for_each_scale():
    made = lab04.start_table((4, 64))
    assert [*made.groups] == [*ch04.SCALES]
    width, largest, saturated, mean, median, larger = made.groups["no scale"][1]
    weights = ch04.random_scores(64).softmax(-1).amax(-1)
    sizes = lab04.query_gradients(64, 1.0)
    assert width == 64
    assert largest == pytest.approx(weights.mean().item())
    assert saturated == pytest.approx(100 * (weights > 0.99).float().mean().item())
    assert (mean, median) == pytest.approx((sizes.mean().item(), sizes.median().item()))
    more = sizes > lab04.query_gradients(64, 1 / 8)
    assert larger == pytest.approx(100 * more.float().mean().item())
    assert {row[-1] for row in made.groups["1/√d"]} == {None}


def test_gradient_figure_draws_the_medians_within_its_limits():
    (axes,) = lab04.gradient_figure((4, 64)).axes
    drawn = {line.get_label(): [*line.get_ydata()] for line in axes.get_lines()}
    assert drawn["1/√d"][-1] == pytest.approx(
        lab04.query_gradients(64, 1 / 8).median().item()
    )
    low, high = axes.get_ylim()
    assert all(low < y < high for line in drawn.values() for y in line)


def test_the_additive_score_does_not_spread_with_the_width():
    torch.manual_seed(1)
    narrow, wide = (lab04.additive_start(d, draws=3) for d in (4, 256))
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.rand(1) == after
    assert torch.equal(narrow, lab04.additive_start(4, draws=3))
    assert narrow.shape == (150, 64)
    assert 0.2 < narrow.std() < 0.5
    assert 0.2 < wide.std() < 0.5


def test_with_a_large_v_it_spreads_like_the_dot_product():
    narrow, wide = (lab04.additive_start(d, v_std=1.0, draws=3) for d in (4, 256))
    assert 0.7 < narrow.std() < 1.6
    assert 6 < wide.std() < 12


def test_additive_table_shows_deviations_and_then_largest_weights():
    scaled = dict((row[0], row[1:]) for row in lab04.additive_table((4, 64)).rows())
    scores = ch04.random_scores(64, n_keys=64) / 8
    largest = scores.softmax(-1).amax(-1).mean().item()
    assert scaled["dot/√d"][1] == pytest.approx(scores.std().item())
    assert scaled["dot/√d"][3] == pytest.approx(largest)


# Shapes, and single numbers


def test_shapes_table_has_shapes_where_they_fit_and_reasons_where_not():
    rows = lab04.shapes_table().rows()
    assert [row[3] for row in rows[:2]] == ["(3, 9)", "(5, 3, 2)"]
    assert rows[2][3] == "error: queries are 4 wide, keys 5"
    assert rows[3][3] == "error: there are 6 keys, but 5 values"


def test_one_change_table_shows_equation_1():
    rows = {row[0]: row[1:] for row in lab04.one_change_table().rows()}

    def sees(q=(2, 0), farmer=(1, 0.7), value=(1, 0), masked=()):
        keys = torch.tensor([(0, 0.8), farmer, (0.1, 0), (0.9, -1)])
        values = torch.tensor([(0.0, 1.0), value, (0, -1), (-1, 0)])
        e = torch.tensor([sum(a * b for a, b in zip(q, k, strict=True)) for k in keys])
        exps = (e / 2**0.5).exp()
        exps[list(masked)] = 0
        weights = exps / exps.sum()
        return [*weights.tolist(), *(weights @ values).tolist()]

    assert rows["at the start"] == pytest.approx(sees())
    assert rows["query doubled"] == pytest.approx(sees(q=(4, 0)))
    assert rows["key of farmer doubled"] == pytest.approx(sees(farmer=(2, 1.4)))
    assert rows["value of farmer doubled"] == pytest.approx(sees(value=(2, 0)))
    assert rows["bird masked"] == pytest.approx(sees(masked=[3]))


# Stored results


@pytest.fixture
def _stored_look_up(stored):
    runs = [
        {"d_k": d, "score": score, "seed": seed, "right": [d / 1000, (seed + k) / 10]}
        for d in (16, 256)
        for k, score in enumerate(lab04.LOOK_UP_COLOURS)
        for seed in (0, 2)
    ]
    stored("look_up", steps=[50, 100], runs=runs)


def test_every_score_of_the_experiment_has_a_colour():
    assert [*lab04.LOOK_UP_COLOURS] == [*look_up.SCALES, *look_up.ADDITIVE]


@pytest.mark.usefixtures("_stored_look_up")
def test_look_up_table_shows_mean_and_range():
    made = lab04.look_up_table(("8/√d", "1"), after=(100, 50))
    late, early = made.groups.values()
    assert [*made.groups] == ["after 100 steps", "after 50 steps"]
    assert [head.name for head in made.columns] == ["score", "d_k = 16", "d_k = 256"]
    assert [row[0] for row in late] == ["8/√d_k", "1 (no scale)"]
    assert late[0][1:] == (Spread(20, 10, 30),) * 2
    assert early[0][1] == pytest.approx((1.6, 1.6, 1.6))


@pytest.mark.usefixtures("_stored_look_up")
def test_look_up_figure_draws_the_stored_shares():
    narrow, wide = lab04.look_up_figure(("1", "1/d"), (16, 256)).axes
    drawn = {line.get_label(): [*line.get_ydata()] for line in wide.get_lines()}
    assert drawn == {
        "1": pytest.approx([25.6, 10]),
        "1/d": pytest.approx([25.6, 60]),
    }
    assert "16" in narrow.get_title("left")
    edges = wide.collections[0].get_paths()[0].vertices
    last = {round(y) for x, y in edges if x == 100}
    assert last == {0, 20}  # the lowest and the highest seed


@pytest.fixture
def _stored_cost(stored):
    runs = [
        {"n": n, "form": form, "bytes": n * n * (2 - k), "seconds": n / 10**6 / (1 + k)}
        for n in (1000, 2000)
        for k, form in enumerate(fused_cost.FORMS)
    ]
    stored("fused_cost", heads=8, d_k=64, machine="an abacus", runs=runs)


@pytest.mark.usefixtures("_stored_cost")
def test_fused_costs_are_shown_as_stored():
    assert lab04.fused_table().rows()[-1] == pytest.approx((2000, 8, 4, 2, 1))


@pytest.mark.usefixtures("_stored_cost")
def test_fused_figure_draws_both_forms():
    memory, times = lab04.fused_figure().axes
    drawn = {line.get_label(): [*line.get_ydata()] for line in memory.get_lines()}
    assert drawn == {"readable": [2, 8], "fused": [1, 4]}
    drawn = {line.get_label(): [*line.get_ydata()] for line in times.get_lines()}
    assert drawn["fused"] == pytest.approx([0.5, 1])
