"""The figure that grows, and its table."""

import matplotlib.pyplot as plt
import pytest

from attnbook.course.kit.exact_match import (
    CURVES,
    exact_match_figure,
    exact_match_shares,
    exact_match_table,
)
from attnbook.course.kit.html_tables import spread
from attnbook.course.kit.names import NAMES, name_of


@pytest.mark.parametrize("name", CURVES)
def test_every_curve_has_its_result_over_three_seeds_or_more(name):
    shares = exact_match_shares(name)
    assert len(shares) >= 3
    assert all(len(row) == 4 and all(0 <= s <= 100 for s in row) for row in shares)


def test_growing_figure_draws_the_stored_means():
    figure = exact_match_figure("static_last")
    line = figure.axes[0].get_lines()[0]
    columns = zip(*exact_match_shares("static_last"), strict=True)
    means = [sum(column) / len(column) for column in columns]
    assert list(line.get_ydata()) == pytest.approx(means)
    plt.close(figure)


def test_the_table_has_names_for_readers_and_the_stored_shares():
    made = exact_match_table("static_last", "initial_state_longer")
    names = [row[0] for row in made.rows()]
    assert names == ["static context, last", "initial state only, 2,100 steps"]
    columns = zip(*exact_match_shares("static_last"), strict=True)
    assert made.rows()[0][1:] == tuple(map(spread, columns))


# One name is that of a model without training, for which nothing is stored.
@pytest.mark.parametrize("name", sorted(NAMES.keys() - {"untrained"}))
def test_every_name_is_that_of_a_stored_result(name):
    assert exact_match_shares(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_written_for_a_reader(name):
    assert "_" not in name_of(name)


def test_a_result_without_a_name_does_not_reach_the_reader():
    with pytest.raises(ValueError, match="'static_middle' has no name for a reader"):
        name_of("static_middle")
