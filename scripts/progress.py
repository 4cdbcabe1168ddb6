"""Run a long command and show, in one line, how far it is."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable

COLOURS = re.compile(r"\x1b\[[\d;]*m")
SECONDS_BETWEEN_LINES = 15  # where the output is no terminal, for example on CI


class _Line:
    """One status line: rewritten on a terminal, printed now and then elsewhere."""

    def __init__(self, title: str):
        self.title = title
        self.status = ""
        self.start = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> "_Line":
        print(f"{self.title} …", end="" if sys.stdout.isatty() else "\n", flush=True)
        self._thread.start()
        return self

    def __exit__(self, *exception) -> None:
        self._done.set()
        self._thread.join()
        self.status = ""
        self._show(end="\n")

    def _tick(self) -> None:
        pause = 1 if sys.stdout.isatty() else SECONDS_BETWEEN_LINES
        while not self._done.wait(pause):
            self._show(end="" if sys.stdout.isatty() else "\n")

    def _show(self, end: str) -> None:
        seconds = time.monotonic() - self.start
        line = f"{self.title} … {seconds:.0f} s  {self.status}".rstrip()
        if sys.stdout.isatty():
            line = f"\r\033[K{line[:78]}"  # one row, or the rewriting leaves traces
        print(line, end=end, flush=True)


def run(
    command: list[str],
    title: str,
    status: Callable[[str], str | None] = lambda line: None,
    environment: dict[str, str] | None = None,
) -> tuple[int, str]:
    """Run `command` and return its exit code and all it wrote, less the colours.

    Args:
        command: program and arguments.
        title: what is being done, for the status line.
        status: is given each line of output; returns what to show beside the title,
            or None to leave it as it is.
        environment: the command's environment variables, this process's unless given.
    """
    written = []
    with (
        _Line(title) as shown,
        subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        for line in process.stdout:
            line = COLOURS.sub("", line)
            written.append(line)
            shown.status = status(line) or shown.status
    return process.returncode, "".join(written)
