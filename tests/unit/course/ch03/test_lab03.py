"""Figures and tables of laboratory page 3."""

import re

import pytest
import torch

from attnbook.course.ch03 import experiment_local_cost as cost
from attnbook.course.ch03 import lab as lab03
from attnbook.course.ch03 import lab_hard as lab03_hard
from attnbook.course.kit.experiments import EXPERIMENTS
from attnbook.nn import hard_attention as hard
from attnbook.toy.data import held_out_pairs, reverse_source
from attnbook.toy.language import translate_by_rule

WIDTHS = (4, 64, 256)

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# The time of a step


def test_quartiles_of_a_step_stand_by_score_and_order(stored):
    names = ("bahdanau", "dot", "dot, input feeding")
    stored(
        "step_cost",
        runs=[
            {"model": m, "parameters": k, "low": 0.01, "median": 0.02 * k, "high": 0.1}
            for k, m in enumerate(names, 1)
        ],
    )
    made = lab03.step_cost_table()
    assert [*made.groups] == [
        "Bahdanau",
        "Luong, all steps at once",
        "Luong, with input feeding",
    ]
    assert [row[0] for row in made.rows()] == ["additive", "dot", "dot"]
    assert made.rows()[2][1:] == (3, 10, 60, 100)


# Scores


def test_spreads_are_those_of_the_formulas():
    """PyTorch starts a matrix uniformly within 1/√width: variance 1/(3 width)."""
    spreads = lab03.score_spreads(WIDTHS)
    for width, dot, general, concat in zip(WIDTHS, *spreads.values(), strict=True):
        assert dot == pytest.approx(width**0.5, rel=0.05)
        assert general == pytest.approx((width / 3) ** 0.5, rel=0.12)
        assert 0.2 < concat < 0.5  # bounded by tanh: no growth


def test_spreads_are_the_same_every_time_and_leave_the_generator_alone():
    torch.manual_seed(1)
    first = lab03.score_spreads((4,), draws=2)
    after = torch.rand(1)
    torch.manual_seed(1)
    assert lab03.score_spreads((4,), draws=2) == first
    torch.manual_seed(1)
    assert torch.rand(1) == after
    assert lab03.score_spreads((4,), draws=2, seed=1) != first


def test_spreads_are_drawn_and_shown():
    wanted = lab03.score_spreads((4, 16))
    ax = lab03.score_spread_figure((4, 16)).axes[0]
    assert {line.get_label(): [*line.get_ydata()] for line in ax.get_lines()} == wanted
    rows = lab03.score_spread_table((4, 16)).rows()
    assert {name: spreads for name, *spreads in rows} == wanted


# Distances


def test_distances_of_one_sentence():
    # farmer old the  bird a sees
    assert lab03.distances([translate_by_rule("the old farmer sees a bird")]) == [
        *(2, 0, -2),
        *(2, 0, -2),
    ]
    two = translate_by_rule("a cat sees a dog and a dog sees a cat")
    assert len(lab03.distances([two])) == 10


def test_a_window_of_three_holds_all_words_unless_the_source_is_reversed():
    pairs = held_out_pairs(2)
    figure = lab03.reach_figure(
        {"as it is": pairs, "reversed": [*map(reverse_source, pairs)]}
    )
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles[0] == "as it is: 100% within D = 3"
    share = int(re.search(r"(\d+)%", titles[1])[1])
    found = lab03.distances([*map(reverse_source, pairs)])
    inside = sum(abs(x) <= 3 for x in found) / len(found)
    assert share == pytest.approx(100 * inside, abs=0.51)
    assert share < 10
    heights = [bar.get_height() for ax in figure.axes for bar in ax.patches[1:]]
    assert sum(heights) == pytest.approx(200)


# Stored results


def test_every_row_is_an_experiment():
    assert set(lab03.LABELS) <= set(EXPERIMENTS)
    assert {f"luong_{kind}" for kind in lab03.KINDS} <= set(lab03.LABELS)


def runs(*shares):
    """Made-up runs: for each seed exact match and alignment accuracy, of 5 lengths."""
    return [
        {
            "seed": seed,
            "exact": {str(n): exact - (n == 5) / 2 for n in range(1, 6)},
            "align": {str(n): align for n in range(1, 6)},
        }
        for seed, (exact, align) in enumerate(shares)
    ]


def test_table_has_means_and_ranges_below_headings(stored):
    stored("luong_dot", runs=runs((0.998, 0.5), (0.996, 0.85)))
    stored("luong_dot_reversed", runs=runs((1, 1)))
    made = lab03.luong_table({"forward": ["luong_dot"]})
    assert [*made.groups] == ["forward"]
    [row] = made.rows()
    assert row[0] == "dot"
    assert [tuple(cell) for cell in row[1:4]] == [pytest.approx((99.7, 99.6, 99.8))] * 3
    assert tuple(row[4]) == pytest.approx((67.5, 50, 85))


def test_seeds_and_the_fifth_clause(stored):
    stored("luong_dot", runs=runs((1, 0.5), (0.75, 0.85)))
    rows = lab03.seeds_table("luong_dot").rows()
    assert rows == [("seed 0", 100, 50), ("seed 1", 75, 85)]
    [(name, four, five)] = lab03.five_clauses_table("luong_dot").rows()
    assert (name, tuple(four), tuple(five)) == ("dot", (87.5, 75, 100), (37.5, 25, 50))


def test_dots_are_the_stored_shares(stored):
    stored("luong_dot", runs=runs((0.9, 0.5), (0.8, 0.85)))
    stored("luong_general", runs=runs((1, 0.3)))
    ax = lab03.exact_and_alignment_figure(["luong_dot", "luong_general"]).axes[0]
    joined = [line.get_xdata() for line in ax.get_lines() if len(line.get_xdata()) == 2]
    assert [tuple(map(round, ends)) for ends in joined] == [
        (90, 50),
        (80, 85),
        (100, 30),
    ]
    rows = [line.get_ydata()[0] for line in ax.get_lines()[::3]]
    assert [round(y) for y in rows] == [0, 0, 1]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["dot", "general"]


def two_ways(model, seed, verbs):
    other = {"output": 1.0, "input": 0.0, "another": 0.0}
    kinds = dict.fromkeys(("adjective", "determiner", "noun"), other)
    verb = dict(zip(("output", "input", "another"), verbs, strict=True))
    shares = {"exact": 1.0, "output": 0.85, "input": 0.1 * seed}
    return {"model": model, "seed": seed, **shares, "kinds": kinds | {"verb": verb}}


def test_both_alignments_and_the_words_that_stray(stored):
    stored(
        "alignment_two_ways",
        runs=[two_ways("dot", 0, (1, 0, 0)), two_ways("dot", 1, (0, 0.25, 0.75))],
    )
    [(name, exact, output, of_input)] = lab03.two_ways_table().rows()
    assert (name, exact.mean, output.mean) == ("dot", 100, 85)
    assert tuple(of_input) == pytest.approx((5, 0, 10))
    groups = lab03.kinds_table().groups
    assert [*groups] == ["dot"]
    [(kind, *cells)] = groups["dot"]
    assert kind == "verbs"
    wanted = [(50, 0, 100), (12.5, 0, 25), (37.5, 0, 75)]
    assert [tuple(cell) for cell in cells] == wanted


# The cost of a window


@pytest.fixture
def stored_cost(stored):
    times = [
        {"batch": batch, "S": s, "form": form, "seconds": batch * s * (1 + k) / 1000}
        for batch in cost.BATCHES
        for s in cost.LENGTHS
        for k, form in enumerate(cost.FORMS)
    ]
    counts = [*map(cost.count_scores, cost.LENGTHS)]
    stored("local_cost", half_width=10, machine="an abacus", counts=counts, runs=times)


@pytest.mark.usefixtures("stored_cost")
def test_cost_is_shown_as_stored():
    last = lab03.cost_table(8).rows()[-1]
    assert last[:2] == ("2,000", 2000)
    assert last[2] == pytest.approx(20.945)
    assert last[3:] == (16000, 32000, 48000)


@pytest.mark.usefixtures("stored_cost")
def test_cost_figure_draws_all_forms():
    [ax] = lab03.cost_figure().axes
    drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    assert [*drawn] == [*cost.FORMS] == [*lab03.FORMS]
    assert drawn["local, masked"][-1] == pytest.approx(2 * 2000)


# Hard attention

SCORES = torch.tensor([1.0, 2.0, 0.0, 0.5, -1.0], dtype=torch.float64)
REWARDS = torch.tensor([-1.6, -0.4, -2.3, -1.2, -2.3], dtype=torch.float64)


@pytest.fixture
def estimates():
    g = torch.Generator().manual_seed(0)
    return {
        "plain": hard.reinforce(SCORES, REWARDS, 1000, generator=g),
        "warm": hard.gumbel_softmax_gradient(SCORES, REWARDS, 1.0, 1000, g),
    }


def test_the_table_shows_what_was_measured(estimates):
    exact = hard.exact_gradient(SCORES, REWARDS)
    means, deviations = lab03_hard.gradients_table(exact, estimates).groups.values()
    wanted = {"exact gradient": exact}
    wanted |= {name: samples.mean(0) for name, samples in estimates.items()}
    assert {name: row for name, *row in means} == {
        name: pytest.approx(row.tolist()) for name, row in wanted.items()
    }
    assert {name: row for name, *row in deviations} == {
        name: pytest.approx(samples.std(0).tolist())
        for name, samples in estimates.items()
    }


def test_the_spread_is_drawn_around_the_means(estimates):
    figure = lab03_hard.gradient_spread_figure(
        hard.exact_gradient(SCORES, REWARDS), estimates, position=1
    )
    for ax, (name, rows) in zip(figure.axes, estimates.items(), strict=True):
        assert ax.get_title(loc="left") == name
        output = [float(word) for word in ax.get_title(loc="right").split(" ± ")]
        mean, spread = rows[:, 1].mean().item(), rows[:, 1].std().item()
        assert output == pytest.approx([mean, spread], abs=0.0051)
        mark, line = ax.get_lines()
        assert mark.get_xdata()[0] == pytest.approx(mean)
        assert line.get_xdata()[0] == pytest.approx(0.308, abs=0.001)
        heights = [bar.get_height() for bar in ax.patches]
        assert max(heights) == pytest.approx(1)
