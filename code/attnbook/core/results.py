"""Stored results: what ran too long for a page, with all that is needed to repeat it.

Each is a JSON file in the package, written by ``python -m attnbook.experiments NAME``.
"""

from __future__ import annotations

import json
import os
import platform
from importlib.resources import files
from pathlib import Path

import torch

from attnbook.core.files import write_whole

FOLDER = files("attnbook") / "stored" / "results"


def load(name: str) -> dict:
    """Read a stored result.

    Args:
        name: Name of the experiment.

    Returns:
        The experiment's own entries, and "command", "machine", "python", "torch" and
        "seconds" (of processor time).

    Raises:
        ValueError: If there is no such result; the message lists those there are.
    """
    file = FOLDER / f"{name}.json"
    if not file.is_file():
        known = sorted(f.name.removesuffix(".json") for f in FOLDER.iterdir())
        raise ValueError(f"no stored result {name!r}; there are {', '.join(known)}")
    return json.loads(file.read_text(encoding="utf-8"))


def save(name: str, values: dict, seconds: float, folder: Path) -> Path:
    """Write a result, with what it was made by; the file appears whole or not at all.

    Args:
        name: Name of the experiment.
        values: What it found; anything JSON can hold.
        seconds: Processor time it took.
        folder: Where to put the file.

    Returns:
        The file's path.
    """
    record = {
        "command": f"python -m attnbook.experiments {name}",
        "machine": machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seconds": round(seconds),
        **values,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    write_whole(path, json.dumps(record, indent=1) + "\n")
    return path


def machine() -> str:
    """Name the processor and the number of threads in use."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    threads = torch.get_num_threads()
    return f"{name}, {os.cpu_count()} cores, {threads} thread{'s' * (threads > 1)}"
