"""The glossary of the built book, and its definitions beside linked terms."""

import pytest
from page_checks import ON_PHONE, PHONE, check_accessible
from playwright.sync_api import expect

CHAPTER = "book/ch08_layers.html"
LINK = "article a[href*='glossary.html#term-dropout']"


@pytest.fixture
def page(visit):
    return visit(CHAPTER)


@pytest.fixture
def note(page):
    return page.get_by_role("tooltip")


def test_the_mouse_shows_a_definition_and_can_move_onto_it(page, note):
    page.locator(LINK).first.hover()
    expect(note).to_contain_text("Setting each feature to 0")
    expect(note.locator("[lang=zh]")).to_contain_text("中文")
    note.hover()
    page.wait_for_timeout(400)
    expect(note).to_be_visible()
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


def test_the_keyboard_shows_it_too(page, note):
    link = page.locator(LINK).first
    link.evaluate("link => link.focus({focusVisible: true})")
    expect(note).to_be_visible()
    assert link.get_attribute("aria-describedby") == note.get_attribute("id")
    assert check_accessible(page, "light", "#glossary-note") == []
    assert check_accessible(page, "dark", "#glossary-note") == []
    page.keyboard.press("Tab")
    expect(note).to_be_hidden()
    assert link.get_attribute("aria-describedby") is None


def test_a_tap_shows_it_and_the_next_one_opens_the_glossary(visit):
    page = visit(CHAPTER, **ON_PHONE)
    link, note = page.locator(LINK).first, page.get_by_role("tooltip")
    link.tap()
    expect(note).to_be_visible()
    box = note.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    page.locator("article h1").tap()
    expect(note).to_be_hidden()
    link.tap()
    link.tap()
    page.wait_for_url("**/glossary.html#term-dropout")


def test_an_entry_says_where_its_term_is_introduced(visit):
    page = visit("book/glossary.html")
    entry = page.locator("dt#term-beam-search + dd")
    expect(entry.get_by_role("link")).to_have_text("10.3 Beam search")
    entries = page.locator("dl.glossary dd")
    introduced = page.locator("dl.glossary dd .glossary-place")
    assert introduced.count() >= 0.95 * entries.count()
    page.get_by_label("Letters").get_by_role("link", name="W", exact=True).click()
    expect(page.locator("dt#term-warm-up")).to_be_in_viewport()
