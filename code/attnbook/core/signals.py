"""Signals that ask a program to end: Ctrl-C, ``kill``, the end of its terminal."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals; Windows has no SIGHUP."""


@contextmanager
def on_signal(handle: Callable[[int], None]) -> Iterator[None]:
    """Call a function when the program is asked to end, instead of ending it.

    A signal that the program was started to ignore stays ignored: ``nohup`` does that,
    and a shell for jobs in the background. Outside the main thread, where Python allows
    no handlers, nothing changes.

    Args:
        handle: Takes the number of the signal.
    """
    old = {}
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name, None) for name in ENDING):
            if number and signal.getsignal(number) not in (signal.SIG_IGN, None):
                old[number] = signal.signal(number, lambda got, _: handle(got))
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


class Ended(KeyboardInterrupt):
    """The program was asked to end, by Ctrl-C or another signal.

    Args:
        number: The number of the signal.
    """

    def __init__(self, number: int):
        self.number = number
        super().__init__(number)


@contextmanager
def last_words(words: Callable[[], str]) -> Iterator[None]:
    """When asked to end, run what stands in ``finally``, say a line, and exit.

    The exit code is that of the shells, 128 and the number of the signal: 130 for
    Ctrl-C.

    Args:
        words: Gives the line for stderr: what was kept, and how to go on; or "".

    Raises:
        SystemExit: When the program was asked to end.
    """

    def leave(number: int) -> None:
        raise Ended(number)

    try:
        with on_signal(leave):
            yield
    except Ended as ended:
        if line := words():
            print(line, file=sys.stderr, flush=True)
        sys.exit(128 + ended.number)
