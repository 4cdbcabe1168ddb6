"""Stored runs as tables: what makes a row, what a column, and what is shown."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import getitem
from typing import NamedTuple

from attnbook.core import results
from attnbook.course.kit.html_tables import Cell, Column, Table, spread, table

Name = str | Mapping[object, str] | Callable[[object], Cell]
"""How a setting is named, by a format such as "d_k = {}", by names, by a function."""

NAMES = {
    "untrained": "untrained",
    "initial_state": "initial state only",
    "initial_state_faster": "initial state only, 2 × learning rate",
    "initial_state_longer": "initial state only, 2,100 steps",
    "initial_state_thirty_times": "initial state only, 21,000 steps",
    "initial_state_faster_longer": "initial state only, 2,100 steps, 2 × learning rate",
    "initial_state_slower_longer": "initial state only, 2,800 steps, ½ × learning rate",
    "initial_state_wider": "initial state only, width 192",
    "initial_state_wider_longer": (
        "initial state only, width 192, 2,800 steps, ½ × learning rate"
    ),
    "static_narrow": "static context, s_0 instead of c",
    "static_mean": "static context, mean",
    "static_last": "static context, last",
    "static_last_faster": "static context, last, 2 × learning rate",
    "static_last_longer": "static context, last, 2,100 steps",
    "static_last_ten_times": "static context, last, 7,000 steps",
    "static_last_thirty_times": "static context, last, 21,000 steps",
    "static_last_faster_longer": "static context, last, 2,100 steps, 2 × learning rate",
    "static_last_wider": "static context, last, width 192",
    "static_last_wider_slower": "static context, last, width 192, ½ × learning rate",
    "one_way": "unidirectional encoder",
    "one_way_reversed": "unidirectional encoder, reversed source",
    "bahdanau": "Bahdanau attention",
    "luong_general": "Luong attention, general",
    "transformer": "Transformer",
    "transformer_rotary": "Transformer, rotary encodings",
}
"""How models and stored results read in tables and figures."""
TRANSLATORS = {
    "shipped": "this translator",
    "distilled": "distilled translator",
    "german-english": "German–English translator",
}
"""How the package's translators read in tables."""


class Value(NamedTuple):
    """An entry of the runs as a table shows it.

    Args:
        entry: The name of the entry, the names and places that lead to it inside
            others, or what computes it from a run.
        unit: Unit of the numbers, after scaling.
        scale: A factor, such as 100 for per cent.
        digits: Decimals.
        name: The column's heading, or the heading above the columns of this value.
        group: A heading above the column's own; neighbours with the same one share it.
    """

    entry: str | tuple[str | int, ...] | Callable[[dict], float | str | None]
    unit: str = ""
    scale: float = 1
    digits: int = 0
    name: str = ""
    group: str = ""

    def of(self, run: dict) -> float | str | None:
        """The value of a run; texts and None aren't scaled."""
        if callable(self.entry):
            found = self.entry(run)
        else:
            way = (self.entry,) if isinstance(self.entry, str) else self.entry
            found = reduce(getitem, way, run)
        return found if isinstance(found, str | None) else self.scale * found


def stored_runs(
    name: str, along: Mapping[str, str] | None = None, **where: object
) -> list[dict]:
    """The runs of a stored result, or those of them whose entries are as given.

    Args:
        name: Name of the experiment.
        along: Curves with the name of their axis, ``{"right": "steps"}``: each run is
            then one run for each point, with the point's own "right" and "steps".
        where: Entries and what they must be; of a tuple, any of its values will do.
    """
    stored = results.load(name)
    runs = stored["runs"]
    for curve, axis in (along or {}).items():
        runs = [
            {**run, axis: at, curve: value}
            for run in runs
            for at, value in zip(stored[axis], run[curve], strict=True)
        ]
    return [
        run
        for run in runs
        if all(
            run[entry] in wanted if isinstance(wanted, tuple) else run[entry] == wanted
            for entry, wanted in where.items()
        )
    ]


def pivot(
    runs: Iterable[dict],
    rows: str,
    columns: str | None,
    *values: Value,
    groups: str | None = None,
    names: Mapping[str, Name] | None = None,
    head: str | None = None,
) -> Table:
    """Return a table of runs: a cell for each row and column, and for each value.

    Runs that differ in nothing but what isn't named here, such as the seed, share a
    cell: the mean and range of their values that aren't None. Rows, columns and groups
    stand in the runs' order.

    Args:
        runs: Runs, see :func:`stored_runs`.
        rows: The entry that makes a row.
        columns: The entry that makes a column, or None for one column for each value.
        values: What the cells show.
        groups: The entry whose values stand above groups of rows.
        names: How settings read, by entry; else as they are.
        head: Heading of the first column; else the name of the entry.
    """
    runs = list(runs)
    names = names or {}

    def different(entry: str | None) -> list:
        return list(dict.fromkeys(run[entry] for run in runs)) if entry else [None]

    def name(entry: str | None, setting: object) -> Cell:
        how = names.get(entry, lambda it: it)
        if isinstance(how, str):
            return how.format(setting)
        return how[setting] if isinstance(how, Mapping) else how(setting)

    def cell(value: Value, *at: tuple[str | None, object]) -> Cell:
        found = [value.of(run) for run in runs if _stands(run, at)]
        found = [each for each in found if each is not None]
        return spread(found) if len(found) > 1 else (found or [None])[0]

    heads = [
        Column(str(name(columns, column)), value.unit, value.name, value.digits)
        if columns
        else Column(value.name, value.unit, value.group, value.digits)
        for value in values
        for column in different(columns)
    ]
    made: dict[str, list] = {}
    for group in different(groups):
        for row in different(rows):
            at = ((groups, group), (rows, row))
            if any(_stands(run, at) for run in runs):
                cells = [
                    cell(value, *at, (columns, column))
                    for value in values
                    for column in different(columns)
                ]
                rest = made.setdefault(str(name(groups, group)) if groups else "", [])
                rest.append((name(rows, row), *cells))
    return table([head or rows, *heads], made)


def _stands(run: dict, at: Iterable[tuple[str | None, object]]) -> bool:
    """Whether a run has these entries; an entry of None is none."""
    return all(entry is None or run[entry] == setting for entry, setting in at)
