"""The table of appendix A1."""

from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import Value, pivot, stored_runs

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
    runs = [
        {"training": training, "steps": steps, "correct": run.get(training)}
        for name, steps in (("writers", "300 steps"), ("writers_longer", "1,500 steps"))
        for run in stored_runs(name)
        for training in TRAININGS
    ]
    correct = Value("correct", "%", 100, 1, "correct")
    about = {"names": {"training": TRAININGS}, "head": "trained on, and how it writes"}
    return pivot(runs, "training", "steps", correct, **about)
