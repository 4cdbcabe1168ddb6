"""Each page of the built book, served: whole, offline, accessible, fit for a phone."""

import gzip

import pytest

from link_checks import dead_links
from page_checks import check_controls, check_search, findings_over_http, opened


@pytest.fixture(scope="module")
def site(serve, html):
    return serve(html)


def test_page(browser, site, book_page):
    assert findings_over_http(browser, site, book_page) == []


def test_no_dead_links(html):
    assert dead_links(html) == []


def test_no_dead_controls(browser, site, html):
    chapter = next(html.glob("book/ch*.html")).relative_to(html)
    with opened(browser, site, chapter.as_posix()) as (page, _):
        assert check_controls(page) == []


def test_search(browser, site):
    with opened(browser, site, "search.html?q=decoder") as (page, found):
        assert found + check_search(page) == []


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
