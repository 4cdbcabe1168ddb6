import pytest

from attnbook.pages.tables import mean_and_range, row, stored_runs


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (([1, 2, 6],), "3 (1–6)"),
        (([99.96, 5.25],), "52.6 (5.2–100)"),
        (([1, 2], ".2f"), "1.50 (1.00–2.00)"),
        (([0.5], ".0%", " to "), "50% (50% to 50%)"),
    ],
)
def test_means_and_ranges(given, written):
    assert mean_and_range(*given) == written


def test_columns_are_aligned_and_end_with_the_last_cell():
    assert row("name", ["a", "bc", ""], (6, 4)) == "name  a   bc"


def test_runs_are_those_whose_entries_are_as_given():
    runs = stored_runs("recall")
    some = stored_runs("recall", kind="gru", steps=300)
    assert some
    assert some == [run for run in runs if (run["kind"], run["steps"]) == ("gru", 300)]
