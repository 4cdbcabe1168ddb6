"""Pages on paper and on a phone, and links to what stands in them."""

from io import BytesIO

import pytest
from page_checks import PHONE
from playwright.sync_api import expect
from pypdf import PdfReader

A4 = {"width": 642, "height": 931}
"""Pixels within the margins of print.css."""
CUT = """() => [...document.querySelectorAll("article :is(pre, table, img, .math)")]
    .filter((e) => e.checkVisibility() && !e.closest("math")
        && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.fixture
def page(visit):
    """Chapter 2."""
    return visit("book/ch02_bahdanau.html")


def test_paper_is_light_and_shows_all_but_solutions(page):
    theme = "() => document.documentElement.dataset.theme"
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    page.emulate_media(media="print")
    page.set_viewport_size(A4)
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(theme) == "light"
    expect(page.get_by_role("heading", name="2. Bahdanau attention")).to_be_visible()
    expect(page.get_by_text("def write_by_clicks")).to_be_visible()  # folded code
    for control in page.locator(
        "article :is(select, form, .tick, .predict-show)"
    ).all():
        expect(control).to_be_hidden()
    expect(page.locator("#book\\/ch02_bahdanau-solution-1 pre").first).to_be_hidden()
    assert page.evaluate(CUT) == []
    page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(theme) == "dark"


@pytest.mark.parametrize(("name", "sides"), [("mask_card", 1), ("cheat_sheet", 2)])
def test_a_card_has_its_sides(visit, name, sides):
    pdf = visit(f"book/{name}.html").pdf(format="A4", prefer_css_page_size=True)
    assert len(PdfReader(BytesIO(pdf)).pages) == sides


def test_code_fits_a_phone(page):
    page.set_viewport_size(PHONE)
    wide = "pres => pres.filter((e) => e.scrollWidth > e.clientWidth).length"
    assert not page.locator("article pre").evaluate_all(wide)


def test_a_table_keeps_its_first_column(visit):
    page = visit("book/lab04_scaled_dot_product.html", viewport=PHONE)
    box = page.locator("#tab-lab4-cuts .book-table")
    assert box.evaluate("e => { e.scrollLeft = 50; return e.scrollLeft; }") > 0
    head = box.locator("th[scope=row]").first
    assert abs(head.bounding_box()["x"] - box.bounding_box()["x"]) < 2


def test_an_exercise_has_a_link(page):
    link = page.locator("#ex2-step .headerlink")
    link.press("Enter")
    assert page.url.endswith("ch02_bahdanau.html#ex2-step")
