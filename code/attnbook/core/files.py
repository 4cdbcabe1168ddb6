"""Files: atomic writes, so that none is ever half written; and JSON that is checked."""

from __future__ import annotations

import json
import os
from importlib.resources.abc import Traversable
from pathlib import Path

from attnbook.core.checks import check_entries


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically: under a temporary name first, which is then renamed.

    Args:
        path: The file; an existing one is replaced.
        content: Bytes, or text to be written as UTF-8.

    Raises:
        OSError: If it cannot be written; an existing file is then left unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # on disk before it is renamed
        unfinished.replace(path)
    except BaseException:  # an interruption, too
        unfinished.unlink(missing_ok=True)  # frees space on a full disk
        raise


def read_object(path: Traversable, remedy: str, /, **kinds: type) -> dict:
    """Read a JSON object, and check some of its entries.

    Args:
        path: The file.
        remedy: What to do if something is wrong with it.
        kinds: The types of entries that must be there, by name.

    Raises:
        ValueError: If the file cannot be read, is not a JSON object, or has an entry of
            another type.
    """
    try:
        values = parse_object(path, path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({error}); {remedy}") from error
    check_entries(path, values, remedy, **kinds)
    return values


def write_object(path: Path, values: dict) -> None:
    """Write a JSON object atomically.

    Raises:
        ValueError: If a number is NaN or infinite, which JSON doesn't have.
        OSError: If the file cannot be written.
    """
    for name, value in values.items():
        try:
            json.dumps(value, allow_nan=False)
        except ValueError as error:
            raise ValueError(
                f"{path} is not written: a number in {name} is NaN or infinite, and "
                "nothing can be told from it; where it may be, store None"
            ) from error
    write_whole(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def parse_object(path: Traversable, text: str) -> dict:
    """Parse JSON that stands in a file.

    Raises:
        ValueError: If it is not one JSON object.
    """
    try:
        values = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold a JSON object, and has {text[:40]!r}")
    return values
