"""Open the notebooks in JupyterLab: copies of the reader's own, whose changes stay.

    python scripts/lab.py       after `make book`; `make lab` does both

Options are handed on to JupyterLab: `make lab ARGS="--no-browser --port=9000"`.

The copies lie in the folder `notebooks`. One that the reader has not changed follows
the book. One that has been changed stays as it is; if the book changed too, its new
version is put next to it, as `ch02_bahdanau-2.ipynb`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from reader_notebooks import ROOT, made
from run_notebooks import store

FOLDER = ROOT / "notebooks"
RECORD = ".made.json"
"""Digests of the files as they were made: what differs was changed by the reader."""


def update(
    folder: Path, notebooks: Iterable[tuple[str, NotebookNode]]
) -> tuple[list[Path], list[str]]:
    """Bring the copies up to date without touching what the reader changed.

    Return the files that were written, and a line for each put next to another.
    """
    folder.mkdir(exist_ok=True)
    record = folder / RECORD
    known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    written, lines = [], []
    for name, notebook in notebooks:
        new = digest(f"{nbformat.writes(notebook)}\n".encode())
        path = next(p for p in versions(folder / name) if is_free(p, new, known))
        if known.get(path.name) == new and path.exists():
            continue
        store(notebook, path)
        known[path.name] = new
        written.append(path)
        if path.name != name:
            lines.append(f"{name} has your changes. Its new version is {path.name}.")
    record.write_text(f"{json.dumps(known, indent=1)}\n", encoding="utf-8")
    return written, lines


def versions(path: Path) -> Iterator[Path]:
    """Yield the names that versions of a notebook can have, the first one first."""
    yield path
    for number in range(2, sys.maxsize):
        yield path.with_stem(f"{path.stem}-{number}")


def is_free(path: Path, new: str, known: dict[str, str]) -> bool:
    """Say whether a version may stand here: nothing that the reader did is lost.

    A file that the reader changed may stay if it was made from this very version.
    """
    if not path.exists() or known.get(path.name) == new:
        return True
    return digest(path.read_bytes()) in (known.get(path.name), new)


def digest(content: bytes) -> str:
    """Return what tells one content from another."""
    return hashlib.sha256(content).hexdigest()


def lab_options(options: list[str], is_root: bool) -> list[str]:
    """Return JupyterLab's options: it refuses to run as root, as a container does."""
    if not is_root or any(option.startswith("--allow-root") for option in options):
        return options
    print("You are root, as in a container: JupyterLab gets the option --allow-root.")
    return ["--allow-root", *options]


def main() -> int:
    """Update the copies, trust those that were written, and open JupyterLab."""
    written, lines = update(FOLDER, made(ROOT, site=False))
    print(*lines, sep="\n", end="\n" if lines else "")
    jupyter = [sys.executable, "-m", "jupyter"]
    if written:
        subprocess.run([*jupyter, "trust", *written], check=True, capture_output=True)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # Windows has no root
    options = lab_options(sys.argv[1:], is_root)
    command = [*jupyter, "lab", "intro.ipynb", *options]
    return subprocess.run(command, cwd=FOLDER).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
