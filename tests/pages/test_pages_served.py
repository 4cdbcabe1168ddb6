"""Each page of the built book, served: whole, offline, accessible, fit for a phone."""

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
