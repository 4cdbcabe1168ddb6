"""Numbers in plain text: rows of tables, means with their range over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from attnbook.core import results


def stored_runs(name: str, **where: object) -> list[dict]:
    """The runs of a stored result, or those of them whose entries are as given.

    Args:
        name: The result.
        where: Entries that are wanted, such as ``d_k=64``.
    """
    return [
        run
        for run in results.load(name)["runs"]
        if all(run[entry] == wanted for entry, wanted in where.items())
    ]


def row(label: str, cells: Iterable[str], widths: tuple[int, int]) -> str:
    """A row of a table.

    Args:
        label: Its first cell.
        cells: The others.
        widths: Letters of the first cell, and of each of the others.
    """
    first, other = widths
    return f"{label:{first}}{''.join(f'{cell:{other}}' for cell in cells)}".rstrip()


def shares(names: Iterable[str], numbers: Iterable[float]) -> str:
    """Names with their numbers in one line: ``old 0.59, bird 0.15``."""
    return ", ".join(f"{name} {x:.2f}" for name, x in zip(names, numbers, strict=True))


def mean_and_range(
    numbers: Sequence[float], form: str | None = None, between: str = "–"
) -> str:
    """A mean, and in brackets the least and the greatest number.

    Args:
        numbers: One a seed, mostly.
        form: How each is written, such as ".2f"; else with one decimal, which is left
            out if it is 0.
        between: What stands between least and greatest.
    """
    mean, least, greatest = (
        f"{x:{form}}" if form else f"{round(x, 1):g}"
        for x in (fmean(numbers), min(numbers), max(numbers))
    )
    return f"{mean} ({least}{between}{greatest})"
