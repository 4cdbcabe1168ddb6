"""One file with all results of a folder, small enough to be fetched from anywhere.

States to resume from stay behind. What does not fit is left out, the models' weights
first, and named in ``pack.json``.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from contextlib import suppress
from pathlib import Path

from attnbook.core.files import write_whole

LIMIT = 15 * 2**20
"""Bytes of a packed file; a machine may return files of 16 MiB."""

SECONDS = 10
"""Least time between two packs: less than an epoch takes to lose."""

STATES = {"last.safetensors", "epochs", "lock", "data"}
"""Files and folders that a result does not need."""

LAST = (".safetensors", ".log", "subwords.json", "hypotheses.json")
"""Ends of the names of what is packed last, the weights after all others."""

LIST = "pack.json"


def contents(folder: Path) -> list[Path]:
    """The files to pack, the most important first; weights come last."""
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not STATES & {*path.relative_to(folder).parts}
        and path.suffix not in (".unfinished", ".zip")
    ]

    def order(path: Path) -> tuple:
        late = [path.name.endswith(ending) for ending in LAST]
        return late, path.relative_to(folder).parts[1:], path.parts

    return sorted(files, key=order)


def pack(folder: Path, file: Path, limit: int = LIMIT) -> list[str]:
    """Write the results of a folder to one file, which is replaced as a whole.

    Args:
        folder: The folder of ``benchmarks/gpu.py``.
        file: A zip file.
        limit: Its largest size in bytes.

    Returns:
        What did not fit.
    """
    stream, left_out = io.BytesIO(), []
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in contents(folder):
            name = path.relative_to(folder).as_posix()
            data = path.read_bytes()
            # Deflating never adds more than this, and the directory stands at the end.
            room = limit - stream.tell() - 300 * (len(archive.namelist()) + 2)
            if len(data) + 1000 > room:
                left_out.append(name)
                continue
            archive.writestr(name, data)
        archive.writestr(LIST, json.dumps({"left_out": left_out}, indent=1))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, stream.getvalue())
    return left_out


def unpack(file: Path, folder: Path) -> None:
    """Put packed results into a folder; files that are there stay.

    Raises:
        ValueError: If the file is no such archive.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if name != LIST and not (folder / name).exists():
                    archive.extract(name, folder)
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{file} cannot be unpacked ({error}); name a file of --pack"
        ) from error


class Packer:
    """Packs a folder again and again while programs write to it.

    Args:
        folder: The folder.
        file: The packed file; None to pack nothing.
    """

    def __init__(self, folder: Path, file: Path | None):
        self.folder, self.file = folder, file
        self.packed_at, self.state = -float("inf"), None

    def __call__(self, now: bool = False) -> None:
        """Pack if there is something new and the last pack isn't of this moment.

        Args:
            now: Whether not to wait.
        """
        if not self.file or (not now and time.monotonic() < self.packed_at + SECONDS):
            return
        self.packed_at = time.monotonic()
        with suppress(FileNotFoundError):  # a program has deleted it: the next time
            state = [(path, path.stat().st_mtime_ns) for path in contents(self.folder)]
            if state != self.state:
                pack(self.folder, self.file)
                self.state = state
