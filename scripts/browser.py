"""A Chromium for the page tests, whichever the machine has.

    python scripts/browser.py

makes sure that one starts, as `make test` does before its first test: it installs what
is missing where this may be done without asking.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Playwright, expect, sync_playwright

COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
)
PROGRAMS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
# The browser is to do what the page asks, and nothing of its own.
OPTIONS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 120_000
"""Milliseconds to wait for anything: it ends what hangs, and a busy machine is slow."""

NO_BROWSER = (
    "no Chromium, Chrome or Edge found: run `.venv/bin/playwright install chromium`, "
    "or name one in BOOK_BROWSER"
)
DEBIAN = ("chromium", "fonts-dejavu", "libatomic1")
"""A browser, the signs that pages show, what Playwright itself is linked with."""


def find_browser(playwright: Playwright) -> str | None:
    """Return the path of a browser, the user's choice before what is installed.

    Raises:
        ValueError: If BOOK_BROWSER names no program.
    """
    chosen = os.environ.get("BOOK_BROWSER")
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise ValueError(
                f"BOOK_BROWSER is {chosen!r}, which is no program: give its path"
            )
        return path
    downloaded = playwright.chromium.executable_path
    for candidate in (*COMMANDS, *PROGRAMS, downloaded):
        path = shutil.which(candidate)
        if path is not None:
            return path
    return None


@contextmanager
def open_browser() -> Iterator[Browser | None]:
    """Yield a running browser, or None if the machine has none."""
    with sync_playwright() as playwright:
        program = find_browser(playwright)
        if program is None:
            yield None
            return
        browser = playwright.chromium.launch(
            executable_path=program, args=OPTIONS, timeout=PATIENCE
        )
        browser.on("context", lambda context: context.set_default_timeout(PATIENCE))
        expect.set_options(timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def problem() -> str:
    """Say in one line why no browser starts; "" if one does."""
    try:
        with open_browser() as browser:
            return "" if browser else NO_BROWSER
    except Exception as error:  # of Playwright's own program, if that does not start
        return (str(error) or repr(error)).splitlines()[0]


def remedies() -> Iterator[list[str]]:
    """Yield the commands that may help, one after the other, as far as they may run."""
    if shutil.which("apt-get"):
        root = ["sudo", "-n"] if os.geteuid() else []
        if not root or (shutil.which("sudo") and not subprocess.call([*root, "true"])):
            apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
            subprocess.call([*apt, "update"])
            install = [*apt, "install", "--yes", "--no-install-recommends"]
            yield [*install, *DEBIAN]
            yield [*install, DEBIAN[-1]]  # Ubuntu has no such chromium
    yield [sys.executable, "-m", "playwright", "install", "chromium"]


def main() -> None:
    """Make sure that a browser starts, or end with one line that says what to do."""
    found = problem()
    if found and not os.environ.get("BOOK_BROWSER"):
        for command in remedies():
            print("A browser for the tests:", *command, flush=True)
            subprocess.call(command, stdout=subprocess.DEVNULL)
            if not (found := problem()):
                break
    if found:
        debian = f"on Debian, sudo apt install {' '.join(DEBIAN)}"
        sys.exit(f"The tests need a browser ({debian}): {found}")


if __name__ == "__main__":
    main()
