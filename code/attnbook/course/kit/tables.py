"""Stored runs for tables, and numbers in plain text."""

from __future__ import annotations

from collections.abc import Iterable

from attnbook.core import results


def stored_runs(name: str, **where: object) -> list[dict]:
    """The runs of a stored result, or those of them whose entries are as given."""
    return [
        run
        for run in results.load(name)["runs"]
        if all(run[entry] == wanted for entry, wanted in where.items())
    ]


def shares(names: Iterable[str], numbers: Iterable[float]) -> str:
    """Names with their numbers in one line: ``old 0.59, bird 0.15``."""
    return ", ".join(f"{name} {x:.2f}" for name, x in zip(names, numbers, strict=True))
