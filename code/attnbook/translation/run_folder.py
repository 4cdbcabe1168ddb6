"""The folder of a training run: its lock, the check of its config, and its log.

It holds ``config.json``, ``subwords.json``, ``last.safetensors`` (the state to resume
from), ``epochs/`` (weights after each of the last epochs, to be averaged) and
``metrics.jsonl`` (the log, one JSON object per line). The file ``lock`` is locked while
a trainer for the folder exists, so that no other program trains there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from attnbook.core.checks import check_entries
from attnbook.core.files import parse_object, write_whole
from attnbook.data.subwords import Subwords
from attnbook.translation.configs import Config, from_json, to_json
from attnbook.translation.corpora import Texts

LOG = "metrics.jsonl"

MAY_CHANGE = ("max_epochs", "average", "precision")
"""Entries of the config that may differ when a run is resumed."""


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


def remove_refused(folder: Path, new: Sequence[Path]) -> None:
    """Remove what a refused run has left, unless there is another one in its folder.

    Args:
        folder: The folder.
        new: The folders that were not there before, the innermost first.
    """
    if any((folder / name).exists() for name in ("config.json", "last.safetensors")):
        return
    for name in ("subwords.json", "lock"):
        (folder / name).unlink(missing_ok=True)
    for path in (folder / "epochs", *new):
        with suppress(OSError):  # it isn't there, or something else is in it
            path.rmdir()


def prepare_folder(folder: Path, config: Config, texts: Texts) -> None:
    """Check that a folder is free or holds this run, and let it have its subwords.

    Args:
        folder: The folder.
        config: The config of the run.
        texts: The training split; from it alone the subwords are learned.

    Raises:
        ValueError: As :func:`check_folder`.
    """
    path = folder / "subwords.json"
    if not check_folder(folder, config):
        path.unlink(missing_ok=True)  # of no run, or of a refused one
    if not path.exists():
        both = [*texts.source, *texts.target]
        Subwords.train(both, config.vocab_size).save(path)
    (folder / "epochs").mkdir(exist_ok=True)


def check_folder(folder: Path, config: Config) -> bool:
    """Whether a folder holds a run, which must then be of the same config.

    Raises:
        ValueError: If it is a run of another config (except for :data:`MAY_CHANGE`), or
            a state without its config.
    """
    path = folder / "config.json"
    if path.exists():
        old, new = asdict(from_json(path)), asdict(config)
        for key in old:
            if old[key] != new[key] and key not in MAY_CHANGE:
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


def check_processes(folder: Path, then: int, now: int) -> None:
    """Raise a ValueError unless a run is resumed by as many processes as it had."""
    if then != now:
        raise ValueError(
            f"{folder} holds a run of {then} processes, not {now}, which would make "
            "other updates; start as many as before, or name another folder"
        )


def begin_run(folder: Path, config: Config, step: int) -> None:
    """Write the config of a run, and leave in its log what was done up to a step."""
    write_whole(folder / "config.json", to_json(config))
    truncate_metrics(folder / LOG, step)


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
