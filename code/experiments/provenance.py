"""Stored results: what made each, and how far another run is from it."""

from __future__ import annotations

import inspect
import platform
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attnbook.core.files import write_object
from attnbook.core.results import machine

ABOUT = (
    "command",
    "commit",
    "machine",
    "python",
    "torch",
    "seconds",
)
"""What a stored result says of itself, before the experiment's own entries."""


def save(name: str, values: dict, seconds: float, folder: Path) -> Path:
    """Write a result with the command, commit, machine and versions that made it.

    Args:
        name: Name of the experiment.
        values: Its results; anything that JSON can hold.
        seconds: The processor time that it took.
        folder: The folder to write to.

    Returns:
        The path of the file.

    Raises:
        ValueError: If a number is NaN or infinite.
    """
    record = {
        "command": f"python -m attnbook.course {name}",
        "commit": commit(),
        "machine": machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seconds": round(seconds),
        **values,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    write_object(path, record)
    return path


def commit() -> str:
    """The commit of this copy, "-dirty" if its Python differs, or "unknown"."""
    git = ["git", "-C", str(Path(__file__).parent)]
    asked = ["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--", "*.py"]
    try:
        found = [
            subprocess.run([*git, *what], capture_output=True, text=True, check=True)
            for what in asked
        ]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    head, changed = (answer.stdout.strip() for answer in found)
    return f"{head}-dirty" if changed else head


def differences(stored: dict, found: dict, runs: int | None = None) -> dict[str, float]:
    """Where two results of an experiment differ, in spreads of the stored numbers.

    Numbers that differ only in their place in a list, such as those of all seeds,
    are of one kind; the spread is that between the least and the largest of a kind.

    Args:
        stored: The result of all runs.
        found: The result to compare with it.
        runs: How many of the runs ``found`` holds; None: all.

    Returns:
        For each kind that differs its largest difference divided by its spread:
        infinite where the results don't have the same form, or there is no spread.
    """
    old, new = dict(leaves(stored)), dict(leaves(found))
    repeated = dict(leaves(first_runs(stored, runs)))
    if repeated.keys() != new.keys():
        return {"form": float("inf")}
    kinds: dict[str, list] = {}
    for place, value in old.items():
        kind = "/".join(part for part in place if isinstance(part, str))
        kinds.setdefault(kind, []).append((value, new.get(place, value)))
    return {
        kind: distance(pairs)
        for kind, pairs in kinds.items()
        if any(before != after for before, after in pairs)
    }


def first_runs(stored: dict, runs: int | None) -> dict:
    """A result without all but its first runs."""
    return stored if runs is None else stored | {"runs": stored["runs"][:runs]}


def in_part(run: Callable, runs: int) -> Callable | None:
    """The experiment with its first runs only, or None if it isn't made of runs."""
    takes = inspect.signature(run).parameters
    if "first" in takes:  # a sweep
        return partial(run, first=runs)
    if "seeds" in takes:
        return partial(run, seeds=[*takes["seeds"].default][:runs])
    return None


def distance(pairs: list[tuple[Any, Any]]) -> float:
    """The largest difference, divided by the range of the first values."""
    if not all(isinstance(value, int | float) for pair in pairs for value in pair):
        return float("inf")
    before = [first for first, _ in pairs]
    spread = max(before) - min(before)
    largest = max(abs(first - second) for first, second in pairs)
    return largest / spread if spread else float("inf")


def leaves(value: Any, place: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """All values inside lists and dictionaries, each with its place."""
    if not isinstance(value, dict | list):
        yield place, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield from leaves(item, (*place, key))
