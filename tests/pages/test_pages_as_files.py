"""Each page of the built book, opened without a server, as from a download."""

from page_checks import check_search, findings_from_file, opened


def test_page(browser, html, book_page):
    assert findings_from_file(browser, html, book_page) == []


def test_search(browser, html):
    with opened(browser, html.as_uri(), "search.html?q=decoder") as (page, found):
        assert found + check_search(page) == []
