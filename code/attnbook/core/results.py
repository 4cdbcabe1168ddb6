"""Stored results of experiments that run too long for a page.

Each is a JSON file in the package, written by ``python -m attnbook.course NAME``,
and records what is needed to repeat it.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
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


def machine(device: torch.device | None = None) -> str:
    """Describe a device; by default the processor and the number of threads in use."""
    if device and device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device and device.type != "cpu":
        return f"{platform.machine()}, {device.type}"
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    model = re.search("^model name.*?:(.*)", text, re.MULTILINE)
    name = model[1].strip() if model else platform.processor() or platform.machine()
    threads = torch.get_num_threads()
    return f"{name}, {os.cpu_count()} cores, {threads} thread{'s' * (threads > 1)}"


def commit() -> str:
    """The commit of this copy, "-dirty" if its Python differs, or "unknown".

    It is unknown where there is no git, and where the package is an installed one,
    which the repository around it does not track.
    """
    file = Path(__file__)
    git = ["git", "-C", str(file.parent)]
    asked = (
        ["ls-files", "--error-unmatch", file.name],
        ["rev-parse", "--short", "HEAD"],
        ["status", "--porcelain", "--", ":/*.py"],  # of the whole repository
    )
    try:
        _, head, changed = (
            subprocess.run([*git, *what], capture_output=True, text=True, check=True)
            for what in asked
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head.stdout.strip()}{'-dirty' if changed.stdout else ''}"
