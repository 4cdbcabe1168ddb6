"""A browser for the page tests: whichever Chromium the machine has, or BOOK_BROWSER.

    python scripts/browser.py

makes sure that one starts, as `make test` does before its first test: root, as in a
container, gets one by apt, which often works where no other download does; else
Playwright downloads its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, Playwright, expect, sync_playwright

COMMANDS = ("chromium", "chromium-browser", "google-chrome")
CHANNELS = ("chrome", "msedge")  # where Playwright itself looks for them
# The browser is to do what the page asks, and nothing of its own.
OPTIONS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
PATIENCE = 120_000
"""Milliseconds to wait for anything: it ends what hangs, and a busy machine is slow."""

NO_BROWSER = (
    "no Chromium, Chrome or Edge starts: run `.venv/bin/playwright install chromium`, "
    "or name one in BOOK_BROWSER"
)
DEBIAN = ("chromium", "fonts-dejavu", "libatomic1")
"""A browser, the signs that pages show, what Playwright itself is linked with."""


def launch(playwright: Playwright) -> Browser | None:
    """Start the user's choice, or else the first browser that starts, if any does.

    Raises:
        ValueError: If BOOK_BROWSER names no program.
    """
    chosen = os.environ.get("BOOK_BROWSER")
    if chosen and not shutil.which(chosen):
        raise ValueError(
            f"BOOK_BROWSER is {chosen!r}, which is no program: give its path"
        )
    paths = filter(None, map(shutil.which, [chosen] if chosen else COMMANDS))
    ways = [{"executable_path": path} for path in paths]
    if not chosen:
        downloaded = {}
        ways += [*({"channel": name} for name in CHANNELS), downloaded]
    engine, options = playwright.chromium, {"args": OPTIONS}
    if "firefox" in (chosen or ""):  # any, not only the one that Playwright has changed
        engine, options = playwright.firefox, {"channel": "moz-firefox"}
    for way in ways:
        try:
            return engine.launch(timeout=PATIENCE, **options, **way)
        except Error as error:
            if "executable_path" in way:
                print(str(error).partition("\n")[0], file=sys.stderr)
    return None


@contextmanager
def open_browser() -> Iterator[Browser | None]:
    """Yield a running browser, or None if the machine has none."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is None:
            yield None
            return
        browser.on("context", lambda context: context.set_default_timeout(PATIENCE))
        expect.set_options(timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def starts() -> bool:
    """Say whether a browser starts; without libatomic, Playwright itself does not."""
    try:
        with open_browser() as browser:
            return browser is not None
    except Exception as error:
        print(str(error).partition("\n")[0], file=sys.stderr)
        return False


def remedies() -> Iterator[list[str]]:
    """Yield the commands that may help, one after the other, as far as they may run."""
    if os.environ.get("BOOK_BROWSER"):
        return  # nothing is installed beside the user's choice
    if shutil.which("apt-get") and os.geteuid() == 0:
        apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
        subprocess.call([*apt, "update"])
        install = [*apt, "install", "--yes", "--no-install-recommends"]
        yield [*install, *DEBIAN]
        yield [*install, DEBIAN[-1]]  # Ubuntu has no such chromium
    yield [sys.executable, "-m", "playwright", "install", "chromium"]


def main() -> None:
    """Make sure that a browser starts, or end with one line that says what to do."""
    if starts():
        return
    for command in remedies():
        print("A browser for the tests:", *command, flush=True)
        subprocess.call(command, stdout=subprocess.DEVNULL)
        if starts():
            return
    debian = f"on Debian, sudo apt install {' '.join(DEBIAN)}"
    sys.exit(f"The tests need a browser ({debian}): {NO_BROWSER}")


if __name__ == "__main__":
    main()
