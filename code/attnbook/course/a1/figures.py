"""The table of appendix A1."""

from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import stored_runs

TRAININGS = {
    "gaps": "gaps in whole texts: the reader",
    "gaps_followed": "the reader, filling 16 gaps",
    "one_gap": "one gap in a whole text",
    "cut_later": "one gap in a cut text, not at its end",
    "cut": "one gap at the end of a cut text",
}
"""Rows of the table by their names in the stored result."""


def writers_table() -> Table:
    """How many texts are sentences, by what a model was trained on: stored."""
    runs, longer = stored_runs("writers"), stored_runs("writers_longer")
    rows = [
        (trained, _shares(runs, key), _shares(longer, key))
        for key, trained in TRAININGS.items()
    ]
    columns = [
        "trained on, and how it writes",
        Column("300 steps", "%", "correct", digits=1),
        Column("1,500 steps", "%", "correct", digits=1),
    ]
    return table(columns, rows)


def _shares(runs: list[dict], key: str) -> Spread | None:
    """Per cent over seeds, if it was measured."""
    return spread(100 * run[key] for run in runs) if key in runs[0] else None
