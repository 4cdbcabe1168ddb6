"""Stored results of experiments that run too long for a page.

Each is a JSON file in the package, written by ``python -m attnbook.course NAME``,
and records what is needed to repeat it.
"""

from __future__ import annotations

import os
import platform
from importlib.resources import files
from pathlib import Path

import torch

from attnbook.core.files import read_object

FOLDER = files("attnbook") / "stored" / "results"


def load(name: str) -> dict:
    """Read a stored result.

    Args:
        name: Name of the experiment.

    Returns:
        The experiment's own entries, and what is needed to repeat it: "command",
        "commit", "code" (a fingerprint of the code that made it), "machine", "python",
        "torch" and "seconds" (of processor time).

    Raises:
        ValueError: If there is no such result, or it cannot be read; the message lists
            the existing ones.
    """
    file = FOLDER / f"{name}.json"
    if not file.is_file():
        known = sorted(f.name.removesuffix(".json") for f in FOLDER.iterdir())
        raise ValueError(f"no stored result {name!r}; there are {', '.join(known)}")
    return read_object(file, f"run python -m attnbook.course {name} again")


def machine() -> str:
    """Describe the processor and the number of threads in use."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    threads = torch.get_num_threads()
    return f"{name}, {os.cpu_count()} cores, {threads} thread{'s' * (threads > 1)}"
