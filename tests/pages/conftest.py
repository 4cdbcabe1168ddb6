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


# Not for the whole session: an open browser keeps an event loop running, and the
# notebooks' kernels want one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        if found is None:
            pytest.skip(NO_BROWSER)
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
