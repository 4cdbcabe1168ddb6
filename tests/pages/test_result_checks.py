"""The checks of tables and folds: each finds what it is there to find."""

from pathlib import Path

import pytest

from attnbook.course.kit.html_tables import Column, Spread, table
from page_checks import PHONE, check_width
from result_checks import check_folds, check_tables

STATIC = Path(__file__).resolve().parents[2] / "book" / "_static"
CSS = [STATIC / "book.css", STATIC / "print.css"]
HEADS = ["score", Column("right", "%"), Column("time", "ms", digits=1)]
ROWS = [("one", Spread(100, 9, 100), 3.0), ("two", Spread(5, 4, 7), 1250.25)]
TABLE = f"""<figure><figcaption>It costs less.</figcaption>
{table(HEADS, ROWS)._repr_html_()}</figure>"""
WIDE = f"""<figure><figcaption>Wide.</figcaption>
{table(["n", *(f"heading {n}" for n in range(30))], [range(31)])._repr_html_()}
</figure>"""
FOLD = """<section><details class="book-fold"><summary><h3>More</h3></summary>
<div class="book-fold-body"><p>Text.</p><pre>code</pre></div></details></section>"""


@pytest.fixture
def page(browser):
    """A page of a phone's width, with the looks of the book."""
    page = browser.new_page(viewport=PHONE)
    yield page
    page.close()


def show(page, body):
    style = "".join(path.read_text(encoding="utf-8") for path in CSS)
    page.set_content(
        f"<!doctype html><style>{style}</style>"
        f'<main class="bd-article"><article>{body}</article></main>'
    )


def test_good_tables_and_folds_have_no_findings(page):
    show(page, TABLE + WIDE + FOLD)
    assert check_tables(page) == []
    assert check_folds(page) == []


def test_a_wide_table_scrolls_in_its_box_and_not_the_page(page, monkeypatch):
    show(page, WIDE)
    assert check_width(page) == []
    box = page.locator(".book-table")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    monkeypatch.setattr("page_checks.PATIENCE", 100)
    show(page, WIDE.replace("overflow-x: auto", "").replace("scroll-box", ""))
    assert "pixels wide on a screen of 390" in check_width(page)[0]


HIDDEN = "<style>.book-fold-body {display: none}"
OPEN = "<style>.book-fold::details-content {content-visibility: visible;"


@pytest.mark.parametrize(
    ("body", "old", "new", "problem"),
    [
        (TABLE, "It costs less.", "", "has no caption"),
        (TABLE, "figcaption", "p", "has no caption"),
        (TABLE, 'th scope="row"', "td", "lacks headings"),
        (TABLE, 'th scope="col"', "td", "lacks headings"),
        (TABLE, "min-width: 7ch", "", "has numbers that do not align"),
        (TABLE, "1,250.2", "1,250.2 ", ""),
        (TABLE, "1,250.2", "1,250.2<b>x</b>", "has numbers that do not align"),
        (FOLD, "<h3>More</h3>", "More", "fold 'More' has no heading"),
        (FOLD, "<p>Text.</p><pre>code</pre>", "", "fold 'More' holds nothing"),
        (FOLD, 'class="book-fold-body"', "", "fold 'More' holds nothing"),
        (FOLD, "<p>Text.", f"{HIDDEN}</style>", "does not open"),
        (
            *(FOLD, "<p>Text."),
            f"{HIDDEN}\n[open] .book-fold-body {{display: block}}</style>",
            "is not printed",
        ),
        (FOLD, "<p>Text.", f"{OPEN}block-size: auto}}</style>", "does not close"),
    ],
)
def test_finds_in_a_table_or_fold(page, body, old, new, problem):
    assert old in body
    show(page, body.replace(old, new))
    found = check_tables(page) + check_folds(page)
    assert problem in "".join(found)
    assert bool(found) == bool(problem)
