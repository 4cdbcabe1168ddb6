"""Files that appear whole or not at all, whenever the program is stopped."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under another name, then give it its own.

    Args:
        path: The file; one that is there is replaced.
        content: Bytes, or text to be written as UTF-8.

    Raises:
        OSError: If it cannot be written; what was there before stays.
    """
    data = content.encode() if isinstance(content, str) else content
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # on the disk before it takes the name
    except OSError:
        unfinished.unlink(missing_ok=True)  # a full disk needs its place
        raise
    unfinished.replace(path)
