"""The front page: an example that moves, a switch, and a reader who comes back."""

import re

import pytest
from page_checks import ON_PHONE, PHONE, check_width
from playwright.sync_api import expect

FRONT, CHAPTER = "book/intro.html", "book/ch04_scaled_dot_product.html"
WITHOUT = "Ein Mann mit einem Hut, der sich"


@pytest.fixture
def front(visit, serve, html):
    return visit(FRONT, serve(html))


def german(page):
    """The translation that is shown, without its glosses."""
    words = page.locator("figure.tr-light .tr-word > [lang]")
    return " ".join(words.all_inner_texts())


def test_start_stands_on_the_first_screen_of_a_phone(visit):
    page = visit(FRONT, **ON_PHONE)
    start = page.get_by_role("link", name="Start with chapter 1")
    assert start.bounding_box()["y"] < PHONE["height"] / 2
    assert page.locator("figure.tr-light .tr-german").bounding_box()["y"] < 844
    assert check_width(page) == []
    start.tap()
    expect(page.locator(".bd-article h1")).to_contain_text("Sequence to sequence")


def test_the_example_moves_until_it_is_touched(front):
    later = front.locator("figure.tr-light .tr-later")
    pause = front.get_by_role("button", name="Pause")
    expect(pause).to_be_visible()
    front.wait_for_function("document.querySelector('.tr-later')")
    front.locator("figure.tr-light .tr-german").click()
    expect(later).to_have_count(0)
    expect(front.get_by_role("button", name="▶ Play")).to_be_visible()


def test_without_attention_every_sentence_becomes_the_same(front):
    front.emulate_media(reduced_motion="reduce")
    front.reload()
    assert german(front).startswith("Die alte Frau")
    switch = front.get_by_role("checkbox", name="attention to the English")
    place = switch.bounding_box()
    switch.uncheck()
    assert switch.bounding_box() == place
    expect(front.locator("figure.tr-light .tr-player")).to_contain_text("step 21 of 21")
    stored = german(front)
    assert stored.startswith(WITHOUT)
    front.get_by_role("button", name="A man bites a dog.").click()
    figure = front.locator("figure.tr-light")
    expect(figure).to_have_attribute("aria-busy", "false")
    assert german(front) == stored  # computed in the page, and by PyTorch before
    switch.check()
    expect(figure.locator(".tr-german")).to_contain_text("beißt")
    assert german(front) == "Ein Mann beißt einen Hund."
    pair = figure.locator(".tr-pair dd:visible")
    expect(pair).to_have_text(
        ["Ein Mann beißt einen Hund.", "Ein Hund beißt einen Mann."]
    )
    figure.get_by_role("checkbox", name="order").uncheck()
    expect(pair).to_have_text(["Ein Mann beißt einen Hund."] * 2)


def test_a_reader_who_comes_back_goes_on_where_they_left_off(front):
    expect(front.locator(".front-continue")).to_contain_text("New here?")
    chapter = front.url.replace(FRONT, CHAPTER)
    front.goto(chapter)
    front.evaluate("document.querySelectorAll('.bd-article h2')[2].scrollIntoView()")
    front.goto(chapter.replace(CHAPTER, FRONT))
    link = front.locator(".front-continue a")
    expect(link).to_contain_text("Scaled dot-product attention, ")
    front.get_by_role("link", name="Go on with chapter 4").click()
    expect(front).to_have_url(re.compile(f"{CHAPTER}#"))
    front.get_by_role("checkbox", name="I have read this page").check()
    front.goto(chapter.replace(CHAPTER, FRONT))
    card = front.locator(".front-chapters li", has_text="sells vegetables")
    expect(card.locator(".how-far")).to_contain_text("✓")
    start = front.get_by_role("link", name="Go on with chapter 5")
    start.click()
    expect(front).to_have_url(re.compile("ch05_multi_head"))
