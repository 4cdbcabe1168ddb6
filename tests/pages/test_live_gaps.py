"""A1's reader in the page: as PyTorch computes it, and used by key and finger."""

import pytest
import torch
from page_checks import PHONE, check_accessible, opened
from playwright.sync_api import expect

import live
from attnbook.core.vocabulary import BOS, EOS, PAD, UNK
from attnbook.course.a1.writing import MASK
from attnbook.toy.language import is_sentence


@pytest.fixture(scope="module")
def page(browser, html):
    site = html.as_uri()
    with opened(browser, site, "book/a1_one_block.html", viewport=PHONE) as made:
        page, found = made
        yield page
        assert found == []


@pytest.fixture
def figure(page):
    return page.locator(".live-gaps")


def words(figure):
    return figure.locator(".gaps-text button").all_inner_texts()


def begin(figure, start):
    figure.locator("select").select_option(index=start)
    expect(figure.locator("[aria-current]")).to_have_text("[M]")


def test_the_stored_guesses_are_those_of_the_model_in_the_page(page, figure):
    guesses = figure.locator(".tr-bar")
    stored = guesses.all_inner_texts()
    assert not page.evaluate("'reader' in live.models")  # not before it is asked for
    figure.get_by_role("button", name="Begin again").click()
    page.wait_for_function("live.models.reader")
    assert guesses.all_inner_texts() == stored


def test_the_page_computes_what_pytorch_computes(page):
    g = torch.Generator().manual_seed(0)
    lengths = (1, 7, 20)
    texts = [torch.randint(4, MASK + 1, (n,), generator=g).tolist() for n in lengths]
    texts = [[*ids, EOS] for ids in texts]
    asked = "texts => texts.map((ids, i) => live.gap(live.models.reader, ids, i))"
    for i, p in enumerate(page.evaluate(asked, texts)):
        with torch.no_grad():
            logits = live.reader()(torch.tensor(texts[i : i + 1]))[0, i, :MASK]
        logits[[PAD, BOS, UNK]] = -torch.inf
        torch.testing.assert_close(
            torch.tensor(p), logits.softmax(-1), atol=1e-5, rtol=0
        )


def test_a_word_is_written_and_hidden_by_key(page, figure):
    begin(figure, 0)
    text = words(figure)
    guess = figure.locator(".tr-bar").nth(1)
    word = guess.locator("span").first.inner_text()
    guess.press("Enter")
    expect(figure.get_by_role("status")).to_have_text("A sentence of the toy language.")
    assert words(figure) == [word if w == "[M]" else w for w in text]
    expect(figure.locator("select")).to_be_focused()
    verb = figure.locator(".gaps-text button").nth(3)
    verb.press("Enter")
    expect(verb).to_have_text("[M]")
    expect(verb).to_be_focused()
    figure.locator(".tr-bar").first.press("Enter")
    expect(figure.get_by_role("status")).to_have_text("A sentence of the toy language.")


@pytest.mark.parametrize("start", [1, 2])
def test_the_rest_is_drawn_and_judged(figure, start):
    begin(figure, start)
    figure.get_by_role("button", name="Draw the rest").click()
    expect(figure.locator(".tr-bar")).to_have_count(0)
    text = words(figure)
    assert "[M]" not in text
    assert not {"<pad>", "<bos>", "<unk>"} & {*text}
    until_end = text[: text.index("<eos>")] if "<eos>" in text else text
    said = figure.get_by_role("status").inner_text()
    assert said.startswith("A sentence") == is_sentence(until_end)


def test_each_gap_appended_follows_the_word_before(figure):
    begin(figure, 2)
    figure.locator(".tr-bar").first.click()
    expect(figure.locator(".gaps-text button")).to_have_count(2)
    assert words(figure)[1] == "[M]"


def test_it_fits_a_phone_and_is_accessible(page, figure):
    begin(figure, 1)
    assert check_accessible(page, "light", ".live-gaps") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_without_the_model_it_says_so_and_the_next_press_tries_again(browser, html):
    page = browser.new_page()
    page.route("**/live/data/reader.js*", lambda route: route.abort())
    page.goto((html / "book" / "a1_one_block.html").as_uri())
    figure = page.locator(".live-gaps")
    guess = figure.locator(".tr-bar").first
    guess.click()
    expect(figure.get_by_role("status")).to_contain_text("could not be loaded")
    page.unroute("**/live/data/reader.js*")
    guess.click()
    expect(figure.get_by_role("status")).to_have_text("A sentence of the toy language.")
    page.close()
