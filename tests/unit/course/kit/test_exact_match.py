"""Names of results for readers. Figure and table: nbval compares them."""

import pytest

from attnbook.course.kit.exact_match import CURVES, exact_match_shares
from attnbook.course.kit.names import NAMES, name_of


@pytest.mark.parametrize("name", CURVES)
def test_every_curve_has_its_result_over_three_seeds_or_more(name):
    shares = exact_match_shares(name)
    assert len(shares) >= 3
    assert all(len(row) == 4 and all(0 <= s <= 100 for s in row) for row in shares)


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
