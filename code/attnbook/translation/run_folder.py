"""The folder of a training run: its lock, the check of its config, and its log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from attnbook.core.checks import check_entries
from attnbook.core.files import parse_object, write_whole
from attnbook.translation.configs import Config, from_json

LOG = "metrics.jsonl"


def lock_folder(folder: Path) -> FileLock:
    """Keep other programs out; however this one ends, its lock ends with it.

    The lock is one for all trainers of this program, so that a notebook may make a
    second one for its folder.

    Raises:
        ValueError: If another program trains there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.resolve() / "lock", is_singleton=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"another program trains in {folder}; wait for it or end it (a "
            "notebook that trained there holds the folder until its kernel is shut "
            "down), or name another folder with --out"
        ) from None
    return lock


def leave_nothing(folder: Path, made: Sequence[Path]) -> None:
    """Remove what a refused run has left, unless a run has begun in its folder.

    Args:
        folder: The folder.
        made: The folders that were not there before, the innermost first.
    """
    if (folder / "config.json").exists():
        return
    for name in ("subwords.json", "lock"):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # something else is in it
        for path in (folder / "epochs", *made):
            path.rmdir()


def check_folder(folder: Path, config: Config, may_change: Sequence[str]) -> bool:
    """Whether a folder holds a run, which must then be of the same config.

    Args:
        folder: It need not exist.
        config: The config of the run.
        may_change: Entries that may differ.

    Raises:
        ValueError: If it is a run of another config, or a state without its config.
    """
    path = folder / "config.json"
    if path.exists():
        old, new = asdict(from_json(path)), asdict(config)
        for key in old:
            if old[key] != new[key] and key not in may_change:
                raise ValueError(
                    f"{folder} holds a run with {key} {old[key]!r}, not "
                    f"{new[key]!r}; name another folder, or that config"
                )
    elif (folder / "last.safetensors").exists():
        raise ValueError(
            f"{folder} holds the state of a run, but not its config.json; put "
            "that file back, or name another folder"
        )
    return path.exists()


def append_metrics(path: Path, line: dict) -> None:
    """Append a line to a run's log."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, allow_nan=False) + "\n")


def read_metrics(path: Path) -> list[dict]:
    """Read a run's log, without a last line that was cut off.

    Raises:
        ValueError: If a line is not a JSON object with the number of a step.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [parse_object(path, line) for line in text.split("\n")[:-1]]
    for line in lines:
        check_entries(path, line, "delete the line", step=int)
    return lines


def truncate_metrics(path: Path, step: int) -> None:
    """Remove the updates after a step from a log: they will be repeated."""
    kept = [line for line in read_metrics(path) if line["step"] <= step]
    write_whole(path, "".join(json.dumps(line) + "\n" for line in kept))
