"""Atomic file writes: whenever a program is stopped, no file is half written."""

from __future__ import annotations

import os
from pathlib import Path


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
    except OSError:
        unfinished.unlink(missing_ok=True)  # frees space on a full disk
        raise
    unfinished.replace(path)
