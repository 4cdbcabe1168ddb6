"""Figures, tables, drawings and exercises of chapter 3."""

import re

import pytest
import torch
from matplotlib.colors import to_hex

from attnbook.experiments import local_cost as cost
from attnbook.experiments.__main__ import EXPERIMENTS
from attnbook.nn.local_attention import source_window
from attnbook.pages.figures import ch03
from attnbook.toy.data import held_out_pairs, reverse_source
from attnbook.toy.language import translate_by_rule

WIDTHS = (4, 64, 256)


pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# Scores


def test_spreads_are_those_of_the_formulas():
    """PyTorch starts a matrix uniformly within 1/√width: variance 1/(3 width)."""
    spreads = ch03.score_spreads(WIDTHS)
    for width, dot, general, concat in zip(WIDTHS, *spreads.values(), strict=True):
        assert dot == pytest.approx(width**0.5, rel=0.05)
        assert general == pytest.approx((width / 3) ** 0.5, rel=0.12)
        assert 0.2 < concat < 0.5  # bounded by tanh: no growth


def test_spreads_are_the_same_every_time_and_leave_the_generator_alone():
    torch.manual_seed(1)
    first = ch03.score_spreads((4,), draws=2)
    after = torch.rand(1)
    torch.manual_seed(1)
    assert ch03.score_spreads((4,), draws=2) == first
    torch.manual_seed(1)
    assert torch.rand(1) == after
    assert ch03.score_spreads((4,), draws=2, seed=1) != first


def test_spread_figure_draws_them():
    ax = ch03.score_spread_figure((4, 16)).axes[0]
    drawn = {line.get_label(): [*line.get_ydata()] for line in ax.get_lines()}
    assert drawn == ch03.score_spreads((4, 16))


# Distances


def test_distances_of_one_sentence():
    # farmer old the  bird a sees
    assert ch03.distances([translate_by_rule("the old farmer sees a bird")]) == [
        *(2, 0, -2),
        *(2, 0, -2),
    ]
    assert (
        len(
            ch03.distances([translate_by_rule("a cat sees a dog and a dog sees a cat")])
        )
        == 10
    )


def test_a_window_of_three_holds_all_words_unless_the_source_is_reversed():
    pairs = held_out_pairs(2)
    figure = ch03.reach_figure(
        {"thread": pairs, "reversed": [*map(reverse_source, pairs)]}
    )
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles[0] == "thread: 100% within D = 3"
    share = int(re.search(r"(\d+)%", titles[1])[1])
    found = ch03.distances([*map(reverse_source, pairs)])
    inside = sum(abs(x) <= 3 for x in found) / len(found)
    assert share == pytest.approx(100 * inside, abs=0.51)
    assert share < 10
    heights = [bar.get_height() for ax in figure.axes for bar in ax.patches[1:]]
    assert sum(heights) == pytest.approx(200)


# Windows and maps


def test_maps_show_the_weights_the_gold_cells_and_the_window():
    pair = translate_by_rule("the old farmer sees a bird")
    weights = torch.rand(9, 9, generator=torch.Generator().manual_seed(0))
    inside = source_window(torch.arange(9.0)[None], torch.ones(1, 9) > 0, 1)[0]
    maps = {"global": weights, "local": weights * inside}
    everywhere, local, bar = ch03.maps_figure(maps, pair, {"local": inside}).axes
    drawn = everywhere.collections[0].get_array()
    torch.testing.assert_close(torch.tensor(drawn.data), weights[:7, :7])
    assert (local.collections[0].get_array().mask == ~inside[:7, :7].numpy()).all()
    assert to_hex(local.get_facecolor()).upper() == ch03.SHADE
    frames = [(frame.get_x(), frame.get_y()) for frame in everywhere.patches]
    assert frames == [(j, i) for i, j in enumerate(pair.alignment)]
    words = [label.get_text() for label in everywhere.get_yticklabels()]
    assert words == [*pair.target, "<eos>"]
    words = [label.get_text() for label in local.get_xticklabels()]
    assert words == [*pair.source, "<eos>"]
    assert (everywhere.get_xlabel(), local.get_xlabel()) == ("", "source token")
    assert everywhere.get_ylabel() == local.get_ylabel() == "target token"
    assert bar.get_xlabel() == "weight"


# Stored results


def test_every_row_of_the_table_is_an_experiment():
    assert set(ch03.LUONG_ROWS) <= set(EXPERIMENTS)
    labels = [*ch03.LUONG_ROWS.values()]
    assert len({*labels}) == len(labels)
    assert max(map(len, labels)) <= 17


def runs(*shares):
    """Made-up runs: for each seed exact match and alignment score, of 4 lengths."""
    return [
        {
            "seed": seed,
            "exact": {str(n): exact for n in (1, 2, 3, 4)},
            "align": {str(n): align for n in (1, 2, 3, 4)},
            "map": [[align]],
        }
        for seed, (exact, align) in enumerate(shares)
    ]


def test_table_prints_means_and_ranges(stored, capsys):
    stored("luong_dot", runs=runs((0.998, 0.5), (0.996, 0.85)))
    ch03.print_luong_table(["luong_dot"])
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "aligned"
    assert row.split() == ["dot", *["99.7", "(99.6–99.8)"] * 3, "67.5", "(50–85)"]
    assert len(row) <= 88


def test_stored_map_is_that_of_the_seed(stored):
    stored("luong_dot", runs=runs((1, 0.5), (1, 0.85)))
    assert ch03.stored_map("luong_dot", 1).tolist() == [[pytest.approx(0.85)]]


def test_dots_are_the_stored_shares(stored):
    stored("luong_dot", runs=runs((0.9, 0.5), (0.8, 0.85)))
    stored("luong_general", runs=runs((1, 0.3)))
    ax = ch03.exact_and_alignment_figure(["luong_dot", "luong_general"]).axes[0]
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
def test_cost_is_printed_as_stored(capsys):
    ch03.print_cost(8)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "batch 8, D = 10; an abacus"
    numbers = [float(cell) for cell in last.split()]
    assert numbers == [2000, 2000, 20.9, 16000, 32000, 48000]


@pytest.mark.usefixtures("stored_cost")
def test_cost_figure_draws_all_forms():
    top, bottom = ch03.cost_figure().axes
    drawn = {line.get_label(): line.get_ydata() for line in bottom.get_lines()}
    assert [*drawn] == [*cost.FORMS]
    assert drawn["local, masked"][-1] == pytest.approx(2 * 2000)
    everywhere, local = (line.get_ydata() for line in top.get_lines())
    assert [*everywhere] == [*cost.LENGTHS]
    assert max(local) < 21


# Drawings
