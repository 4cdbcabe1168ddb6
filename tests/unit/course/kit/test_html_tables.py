"""Tables of results: what is refused. How 200 tables look nbval compares."""

from xml.etree import ElementTree

import pytest

from attnbook.course.kit.html_tables import Column, Spread, spread, table


def parsed(made):
    return ElementTree.fromstring(made._repr_html_())


def texts(root, path):
    return ["".join(cell.itertext()) for cell in root.findall(path)]


def test_a_spread_is_mean_least_and_greatest():
    assert spread([1, 2, 6]) == Spread(3, 1, 6)
    assert spread(iter([0.5])) == Spread(0.5, 0.5, 0.5)


def test_negative_numbers_have_a_minus_sign_and_no_dash_between():
    (cell,) = texts(parsed(table(["row", "x"], [("a", Spread(-1, -3, 2))])), "*//td")
    assert cell == "−1 (−3 to 2)"


@pytest.mark.parametrize("row", [("a",), ("a", 1, 2)])
def test_a_row_of_another_length_is_refused(row):
    with pytest.raises(ValueError, match=f"has {len(row)} cells; give one for each"):
        table(["row", "x"], [("b", 1), row])


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (["model", "x"], [("initial_state_longer", 1)]),
        (["model", "post_norm"], [("a", 1)]),
        (["model", Column("x", group="luong_dot")], [("a", 1)]),
        (["model", "x"], {"the static_mean of": [("a", 1)]}),
    ],
)
def test_names_of_the_code_do_not_reach_the_reader(columns, rows):
    with pytest.raises(ValueError, match="is a name of the code"):
        table(columns, rows)


def test_names_in_backticks_and_symbols_do():
    made = table(["`attn_mask`", "d_k"], [("W_Q", "`initial_state`")])
    assert "><code>attn_mask</code><" in made._repr_html_()


def test_a_column_without_a_heading_is_refused():
    for columns in (["", "x"], ["row", Column(" ")]):
        with pytest.raises(ValueError, match="a column has no heading: name it"):
            table(columns, [("a", 1)])
