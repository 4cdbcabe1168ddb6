"""A browser and a server, shared by the tests of a module."""

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from page_checks import opened
from playwright.sync_api import Browser, Page

from browser import NO_BROWSER, open_browser
from build_book import HTML


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments) -> None:
        pass


CANNOT = {"has_touch", "java_script_enabled", "media", "reduced_motion"}
"""What Playwright can't pretend in a Firefox that it hasn't changed."""


def _skip_if_asked(method: Callable, unless: str = "") -> Callable:
    """Return the method, which skips a test that asks for what can't be pretended."""

    def call(self, **asked):
        if unless not in asked and (wanted := sorted(CANNOT & asked.keys())):
            pytest.skip(f"Playwright can't do this in Firefox: {', '.join(wanted)}")
        return method(self, **asked)

    return call


def _wait_a_second(page: Page, _: str) -> None:
    page.wait_for_timeout(1000)


# Not for the whole session: an open browser keeps an event loop running, and the
# notebooks' kernels want one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found, pytest.MonkeyPatch.context() as patch:
        if found is None:
            pytest.skip(NO_BROWSER)
        if found.browser_type.name == "firefox":
            patch.setattr(Browser, "new_page", _skip_if_asked(Browser.new_page))
            patch.setattr(Browser, "new_context", _skip_if_asked(Browser.new_context))
            emulate = _skip_if_asked(Page.emulate_media, unless="color_scheme")
            patch.setattr(Page, "emulate_media", emulate)
            # On some pages Playwright never sees that Firefox's network is idle.
            patch.setattr(Page, "wait_for_load_state", _wait_a_second)
        yield found


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[Path], str]]:
    """A function that serves a folder and returns its address."""
    with ExitStack() as stack:

        def start(folder: Path) -> str:
            handler = functools.partial(_Quiet, directory=folder)
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            threading.Thread(target=server.serve_forever, args=[0.02]).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield start


@pytest.fixture(scope="module")
def html() -> Path:
    """The built book."""
    if not (HTML / "index.html").exists():
        pytest.skip("the book is not built: run `make book`")
    return HTML


@pytest.fixture
def visit(browser: Browser, html: Path) -> Iterator[Callable[..., Page]]:
    """A function that opens a page of a site, or of the book as a download.

    It takes the options of a context, too. In the end nothing may have gone wrong.
    """
    with ExitStack() as stack:
        lists = []

        def open_page(path: str, site: str = html.as_uri(), **options) -> Page:
            page, found = stack.enter_context(opened(browser, site, path, **options))
            lists.append(found)
            return page

        yield open_page
        assert [line for found in lists for line in found] == []
