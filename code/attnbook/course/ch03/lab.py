"""Figures and tables of laboratory page 3."""

from collections.abc import Sequence
from statistics import fmean

from attnbook.course.kit.exact_match import with_clauses
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.toy.data import CLAUSES

KINDS = ("dot", "general", "concat", "location", "local_m", "local_p")


def label_of(result: str) -> str:
    """What a row of a table calls a stored result."""
    kind = result.removeprefix("luong_")
    for end in ("_no_feeding", "_reversed"):
        kind = kind.removesuffix(end)
    if kind.startswith("local_"):
        _, which, *width = kind.split("_")
        return f"local-{which}, D = {width[0] if width else 3}"
    return "Bahdanau" if kind == "bahdanau" else kind


# Translation and alignment


def luong_table(groups: dict[str, Sequence[str]]) -> Table:
    """Show exact match by clauses and alignment accuracy: mean and range over seeds."""
    runs = [
        {"group": heading, "model": label_of(name), **run}
        for heading, names in groups.items()
        for name in names
        for run in stored_runs(name)
    ]

    def aligned(run: dict) -> float:
        return fmean(run["align"][str(n)] for n in CLAUSES)

    values = [with_clauses("exact", "exact match", n) for n in (1, 2, 4)]
    values.append(Value(aligned, "%", 100, 1, "alignment accuracy"))
    return pivot(runs, "model", None, *values, groups="group")


# Which word do the weights belong to?


def two_ways_table() -> Table:
    """Exact match and the alignment with output and input: ``alignment_two_ways``."""
    values = [Value("exact", "%", 100, 1, "exact match")]
    for word in ("output", "input"):
        values.append(Value(word, "%", 100, 1, word, "alignment accuracy, by the"))
    return pivot(stored_runs("alignment_two_ways"), "model", None, *values)
