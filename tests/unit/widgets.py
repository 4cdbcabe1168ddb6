"""What the tests of the interactive figures share."""

from contextlib import contextmanager
from html.parser import HTMLParser

import pytest

from browser import NO_BROWSER, open_browser


@contextmanager
def alone_on_a_page(html):
    """Show a figure on a phone's page without style or network; errors fail."""
    with open_browser() as browser:
        if browser is None:
            pytest.skip(NO_BROWSER)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.route("**/*", lambda route: route.abort())
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url))
        page.set_content(
            '<!doctype html><html lang="en"><title>One</title><body style="margin: '
            f'20px"><main style="color: CanvasText"><h1>One</h1>{html}</main></body>'
            "</html>"
        )
        page.locator(".book-controls").wait_for()
        yield page
        assert [p for p in problems if not p.startswith("data:")] == []


class Elements(HTMLParser):
    """All elements of a piece of HTML, as pairs of tag and attributes."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def check_self_contained(html, controls):
    """It loads nothing, needs no id, keeps its keys, and has so many controls."""
    elements = Elements(html).found
    assert not [tag for tag, _ in elements if tag in ("script", "style", "link")]
    assert not [a for _, a in elements if "id" in a]
    found = [a for tag, a in elements if tag in ("input", "button")]
    assert len(found) == controls
    assert all(a["data-lm-suppress-shortcuts"] == "true" for a in found)
    scripts = [v for _, a in elements for name, v in a.items() if name[:2] == "on"]
    assert not [script for script in scripts if "//" in script]  # one line: no comments
