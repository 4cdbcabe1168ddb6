"""Figures and tables of laboratory page 3."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from torch import Tensor

from attnbook.course.kit.exact_match import CLAUSES, exact_match_shares
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs

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


# How large are the scores at the start?


# Translation and alignment


def alignment_shares(name: str) -> list[list[float]]:
    """Alignment accuracy in per cent, stored: one row a seed, 1 to 4 clauses."""
    return [[100 * run["align"][str(n)] for n in CLAUSES] for run in stored_runs(name)]


def luong_table(groups: dict[str, Sequence[str]]) -> Table:
    """Show exact match by clauses and alignment accuracy: mean and range over seeds."""
    heads = [
        Column(f"{n} clause{'s' * (n > 1)}", "%", "exact match", 1) for n in (1, 2, 4)
    ]
    heads.append(Column("alignment accuracy", "%", digits=1))
    rows: dict[str, list] = {}
    for heading, names in groups.items():
        for name in names:
            one, two, _, four = zip(*exact_match_shares(name), strict=True)
            aligned = [fmean(shares) for shares in alignment_shares(name)]
            cells = map(spread, (one, two, four, aligned))
            rows.setdefault(heading, []).append((label_of(name), *cells))
    return table(["model", *heads], rows)


# Which word do the weights belong to?


def two_ways_table() -> Table:
    """Exact match and the alignment with output and input: ``alignment_two_ways``."""
    entries = ("exact", "output", "input")
    heads = [
        Column("exact match", "%", digits=1),
        *(Column(w, "%", "alignment accuracy, by the", 1) for w in ("output", "input")),
    ]
    rows = [
        (name, *(spread(100 * r[key] for r in runs) for key in entries))
        for name, runs in _by_model().items()
    ]
    return table(["model", *heads], rows)


def _by_model() -> dict[str, list[dict]]:
    """The runs of ``alignment_two_ways``, by model."""
    found: dict[str, list[dict]] = {}
    for run in stored_runs("alignment_two_ways"):
        found.setdefault(run["model"], []).append(run)
    return found


def kinds_table() -> Table:
    """Where the largest weight lies when a word of some kind is predicted.

    Means over seeds with their range; kinds whose weights are on the source of the
    output in 99 % of the cases are left out.
    """
    groups: dict[str, list] = {}
    for name, runs in _by_model().items():
        for kind in ("noun", "adjective", "determiner", "verb"):
            cells = [
                spread(100 * run["kinds"][kind][which] for run in runs)
                for which in ("output", "input", "another")
            ]
            if cells[0].mean < 99:
                groups.setdefault(name, []).append((f"{kind}s", *cells))
    heads = [
        Column(text, "%", "largest weight on")
        for text in ("source of output", "source of input", "another position")
    ]
    return table(["words", *heads], groups)


# How far must a model attend?


# Hard attention


def gradients_table(exact: Tensor, estimates: dict[str, Tensor]) -> Table:
    """Show the exact gradient, then mean and standard deviation of each estimate."""
    heads = [Column(str(k), "", "score of position", 3) for k in range(len(exact))]
    groups = {
        "mean of all estimates": [("exact gradient", *exact.tolist())],
        "standard deviation of one estimate": [],
    }
    for name, rows in estimates.items():
        for group, found in zip(
            groups.values(), (rows.mean(0), rows.std(0)), strict=True
        ):
            group.append((name, *found.tolist()))
    return table(["estimate", *heads], groups)
