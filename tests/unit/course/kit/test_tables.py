"""Tables of stored runs: which runs, and what becomes of them."""

import pytest

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

RUNS = [
    {"form": form, "width": width, "seed": seed, "right": right, "note": form * 2}
    for form, width, seed, right in [
        ("b", 4, 0, 0.5),
        ("b", 4, 1, 0.7),
        ("b", 8, 0, 0.9),
        ("a", 4, 0, 0.1),
    ]
]


def test_runs_are_those_whose_entries_are_as_given():
    runs = stored_runs("recall")
    some = stored_runs("recall", kind="gru", steps=300)
    assert some
    assert some == [run for run in runs if (run["kind"], run["steps"]) == ("gru", 300)]
    both = stored_runs("recall", steps=(300, 1000))
    assert both == [run for run in runs if run["steps"] in (300, 1000)]


def test_a_curve_is_a_run_for_each_of_its_points(monkeypatch):
    stored = {"steps": [10, 20], "runs": [{"seed": s, "right": [s, 2]} for s in (3, 4)]}
    monkeypatch.setattr(results, "load", lambda name: stored)
    assert stored_runs("any", {"right": "steps"}) == [
        {"seed": 3, "steps": 10, "right": 3},
        {"seed": 3, "steps": 20, "right": 2},
        {"seed": 4, "steps": 10, "right": 4},
        {"seed": 4, "steps": 20, "right": 2},
    ]
    assert stored_runs("any", {"right": "steps"}, steps=20, right=2, seed=4) == [
        {"seed": 4, "steps": 20, "right": 2}
    ]


def test_what_differs_in_the_seed_alone_shares_a_cell():
    nothing = RUNS[0] | {"seed": 2, "right": None}
    made = pivot([*RUNS, nothing], "form", "width", Value("right", "%", 100, 1))
    heads = ["form", Column("4", "%", digits=1), Column("8", "%", digits=1)]
    both = Spread(pytest.approx(60), pytest.approx(50), pytest.approx(70))
    assert made == table(heads, [("b", both, 90.0), ("a", 10.0, None)])


def test_groups_names_and_a_column_for_each_value():
    twice = Value(lambda run: 2 * run["right"], name="twice", group="above")
    made = pivot(
        [RUNS[2], RUNS[3]],
        "width",
        None,
        twice,
        Value("note", name="n"),
        groups="form",
        names={"form": {"a": "first", "b": "second"}, "width": "d = {}"},
        head="size",
    )
    wanted = {"second": [("d = 8", 1.8, "bb")], "first": [("d = 4", 0.2, "aa")]}
    assert made == table(["size", Column("twice", group="above"), Column("n")], wanted)


def test_a_name_may_be_a_function_and_a_value_heads_its_columns():
    made = pivot(
        RUNS[2:],
        "width",
        "form",
        Value("right", name="share"),
        names={"form": str.upper},
    )
    heads = ["width", Column("B", group="share"), Column("A", group="share")]
    assert made == table(heads, [(8, 0.9, None), (4, None, 0.1)])
