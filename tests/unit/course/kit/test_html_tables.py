"""Tables of results: what a browser gets, and what a terminal shows."""

from xml.etree import ElementTree

import pytest

from attnbook.course.kit.html_tables import Column, Spread, spread, table

HEADS = ["factor", Column("d_k = 16", "%"), Column("time", "ms", digits=1)]
ROWS = [
    ("none", Spread(100, 9, 100), 3.0),
    ("`scale=1`", Spread(5.4, 4, 7), 1250.25),
]


def parsed(made):
    return ElementTree.fromstring(made._repr_html_())


def texts(root, path):
    return ["".join(cell.itertext()) for cell in root.findall(path)]


def test_a_spread_is_mean_least_and_greatest():
    assert spread([1, 2, 6]) == Spread(3, 1, 6)
    assert spread(iter([0.5])) == Spread(0.5, 0.5, 0.5)


def test_rows_and_columns_have_heads():
    root = parsed(table(HEADS, ROWS))
    columns = root.findall("table/thead/tr/th")
    assert [cell.get("scope") for cell in columns] == ["col"] * 3
    assert texts(root, "table/thead/tr/th") == ["factor", "dk = 16%", "timems"]
    assert texts(root, "table/thead//span[@class='unit']") == ["%", "ms"]
    rows = root.findall("table/tbody/tr/th")
    assert [cell.get("scope") for cell in rows] == ["row"] * 2
    assert texts(root, "table/tbody/tr/th") == ["none", "scale=1"]


def test_numbers_have_the_decimals_of_their_column():
    cells = texts(parsed(table(HEADS, ROWS)), "table/tbody/tr/td")
    assert cells == ["100 (9–100)", "3.0", "5 (4–7)", "1,250.2"]


def test_ranges_are_set_off_and_equally_wide_so_that_numbers_align():
    root = parsed(table(HEADS, ROWS))
    ranges = root.findall("table/tbody/tr/td/span")
    assert [area.text for area in ranges] == ["(9–100)", "(4–7)"]
    assert {area.get("class") for area in ranges} == {"range"}
    assert all("min-width: 7ch" in area.get("style") for area in ranges)
    sides = [cell.get("style") for cell in root.findall("table/tbody/tr/td")]
    assert set(sides) == {"text-align: right"}


def test_a_cell_without_a_range_in_a_column_of_ranges_keeps_its_room():
    root = parsed(
        table(["row", "right"], [("a", Spread(1, 0, 2)), ("b", 3), ("c", None)])
    )
    assert texts(root, "table/tbody/tr/td") == ["1 (0–2)", "3 ", " "]
    assert len(root.findall("table/tbody/tr/td/span")) == 3


def test_negative_numbers_have_a_minus_sign_and_no_dash_between():
    (cell,) = texts(parsed(table(["row", "x"], [("a", Spread(-1, -3, 2))])), "*//td")
    assert cell == "−1 (−3 to 2)"


def test_columns_may_share_a_heading():
    heads = ["n", Column("ours", group="memory"), Column("fused", group="memory"), "x"]
    root = parsed(table(heads, [("4", 1, 2, 3)]))
    above, below = root.findall("table/thead/tr")
    spans = [(cell.text, cell.get("colspan"), cell.get("rowspan")) for cell in above]
    assert spans == [("n", None, "2"), ("memory", "2", None), ("x", None, "2")]
    assert [cell.text for cell in below] == ["ours", "fused"]


def test_rows_may_stand_below_a_heading():
    root = parsed(table(["row", "x"], {"early": [("a", 1)], "late": [("a", 2)]}))
    bodies = root.findall("table/tbody")
    assert [body[0][0].text for body in bodies] == ["early", "late"]
    assert {body[0][0].get("scope") for body in bodies} == {"rowgroup"}
    assert [body[1][1].text for body in bodies] == ["1", "2"]


def test_html_is_escaped_code_is_code_and_letters_have_subscripts():
    made = table(["a < b", "`d_k`"], [("1/√d_k & W_Q", "`a<b`")])
    html = made._repr_html_()
    for part in (
        ">a &lt; b<",
        "<code>d_k</code>",
        "1/√<i>d</i><sub>k</sub> &amp; <i>W</i><sub>Q</sub>",
        "<code>a&lt;b</code>",
    ):
        assert part in html


def test_the_table_scrolls_in_a_box_of_its_own():
    root = parsed(table(HEADS, ROWS))
    assert "scroll-box" in root.get("class")
    assert root.get("style") == "overflow-x: auto"


def test_in_a_terminal_columns_align():
    assert repr(table(HEADS, ROWS)).splitlines() == [
        "factor      d_k = 16     time",
        "                   %       ms",
        "───────  ───────────  ───────",
        "none     100 (9–100)      3.0",
        "scale=1    5 (4–7)    1,250.2",
    ]


def test_in_a_terminal_headings_stand_above_rows_and_columns():
    heads = ["n", Column("ours", group="memory"), Column("fused", group="memory")]
    assert repr(table(heads, {"early": [("a", 1, 2)]})).splitlines() == [
        "     memory",
        "n  ours  fused",
        "─  ────  ─────",
        "early",
        "a     1      2",
    ]


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
    assert table(["`attn_mask`", "d_k"], [("W_Q", "`initial_state`")])


def test_a_column_without_a_heading_is_refused():
    for columns in (["", "x"], ["row", Column(" ")]):
        with pytest.raises(ValueError, match="a column has no heading: name it"):
            table(columns, [("a", 1)])
