"""Results that are on disk as they come, so that a stop loses at most one row.

Until it is complete, ``speed.json`` is ``speed.part.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from attnbook.core.files import read_object, write_whole


def part_of(path: Path) -> Path:
    """The file of an incomplete result."""
    return path.with_suffix(".part.json")


def begun(path: Path, machine: str) -> dict:
    """What an earlier program measured on a machine before it was stopped, or {}."""
    part = part_of(path)
    found = read_object(part, "delete the file") if part.exists() else {}
    return found if found.get("machine") == machine else {}


def write_growing(path: Path, results: Iterable[dict]) -> None:
    """Write ever more complete results, and give the last one its name.

    Args:
        path: The file of the complete result.
        results: Whole results, each of which replaces the one before it.
    """
    part = part_of(path)
    part.parent.mkdir(parents=True, exist_ok=True)
    for values in results:
        write_whole(part, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)
