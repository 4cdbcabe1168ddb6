"""Each page of the built book: whole, offline, accessible, fit for a phone, light."""

import gzip
import re

import pytest
import yaml
from page_checks import check_controls, dead_links, findings

from build_book import ROOT, pages

CONTENTS = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
ADDED = ["search", "genindex", "py-modindex"]  # by Sphinx
PAGES = [f"{name}.html" for name in [*pages(CONTENTS), *ADDED]]
KINDS = {re.sub(r"(ch|lab|a)\d+_\w+|api/\w+", r"\1", path): path for path in PAGES}
"""The last chapter, laboratory, page of the appendix and of the library; all others."""


@pytest.fixture(scope="module")
def site(serve, html):
    return serve(html)


@pytest.mark.parametrize("path", PAGES)
def test_page(browser, html, path):
    """As from a download, which asks for more than a server; see the dead links, too.

    Pages of the library have one form: one of them is tested to be accessible.
    """
    one_of_its_kind = path in KINDS.values()
    themes = ["light"] * ("api/" not in path or one_of_its_kind)
    themes += ["dark"] * one_of_its_kind
    assert findings(browser, html.as_uri(), path, themes) == []


def test_no_dead_links(html):
    assert dead_links(html) == []


def test_no_dead_controls(visit, html, site):
    chapter = next(html.glob("book/ch*.html")).relative_to(html)
    assert check_controls(visit(chapter.as_posix(), site)) == []


@pytest.mark.parametrize(
    ("path", "megabytes"), [("book/intro.html", 0.5), ("book/ch12_training.html", 1.2)]
)
def test_a_page_is_light(browser, site, path, megabytes):
    """All that is sent for it, compressed; of the icons, only those that it shows."""
    answers = []
    with browser.new_context() as context:
        page = context.new_page()
        page.on("response", lambda answer: answers.append(answer))
        page.goto(f"{site}/{path}", wait_until="networkidle")
        sent = [gzip.compress(answer.body()) for answer in answers if answer.ok]
    assert sum(map(len, sent)) <= megabytes * 1e6
    icons = {answer.url.rpartition("/_static/")[2] for answer in answers}
    assert "fa-solid-900.ttf" in icons
    assert not [name for name in icons if "fontawesome" in name]
