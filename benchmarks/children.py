"""Programs that an experiment starts, and that end when it ends, however that happens.

A parent that is killed cannot end its children. So each child holds one end of a pipe,
its standard input, whose other end only the parent has: when the parent is gone, the
system closes it, the child reads the end of its input, and ends itself. This works on
every system.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from attnbook.core.signals import on_signal

LAST_SECONDS = 20
"""How long a program that was asked to end may take."""


def start(command: Sequence[str], log: Path) -> subprocess.Popen:
    """Start a Python module as a child.

    Args:
        command: Name of the module, and its arguments.
        log: The file for its output.
    """
    with log.open("w", encoding="utf-8") as output:
        return subprocess.Popen(
            [sys.executable, __file__, *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C reaches the parent alone, which then asks each child once.
            start_new_session=True,
        )


def end(children: Sequence[subprocess.Popen], seconds: float = LAST_SECONDS) -> None:
    """Ask children to end and wait for them; kill those that do not.

    At a second signal to this program, such as another Ctrl-C, all are killed.

    Args:
        children: As started by :func:`start`.
        seconds: How long they may take.
    """

    def kill(_: int) -> None:
        for child in children:
            child.kill()

    with on_signal(kill):
        for child in children:
            child.terminate()
        last = time.monotonic() + seconds
        for child in children:
            try:
                child.wait(max(last - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _end_with_parent() -> None:
    """Wait for the end of the standard input, then end this program."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LAST_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
