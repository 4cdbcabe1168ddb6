"""What the tests of the interactive figures share."""

import base64
from contextlib import contextmanager
from html.parser import HTMLParser
from xml.etree import ElementTree

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
    """All elements of a piece of HTML: pairs of tag and attributes, and texts."""

    def __init__(self, html):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data

    def of(self, name):
        """Attributes and text of each element of a class."""
        found = zip(self.found, self.texts, strict=True)
        return [(a, text) for (_, a), text in found if a.get("class") == name]


def parts(svg):
    """Every element: its tag, its attributes, its text."""
    return [
        (e.tag, dict(e.attrib), (e.text or "").strip())
        for e in ElementTree.fromstring(svg).iter()
    ]


def check_first_state(html, svg, alt, output):
    """Without scripts the first state is an image, and no control is to be seen."""
    elements = Elements(html).found
    (image,) = [a for tag, a in elements if tag == "img"]
    data = image["src"].removeprefix("data:image/svg+xml;base64,")
    assert base64.b64decode(data).decode() == svg
    assert image["alt"] == alt
    assert f">{output}</p>" in html
    hidden = {a["class"] for _, a in elements if a.get("hidden") == "hidden"}
    assert hidden == {"book-controls", "book-live"}


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
