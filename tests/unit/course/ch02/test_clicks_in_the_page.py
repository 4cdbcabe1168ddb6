"""Be the attention: the page writes what the package does, by mouse and by key."""

from pathlib import Path

import pytest
from page_checks import check_accessible
from playwright.sync_api import expect

from attnbook.course.ch02.clicks import aligned_clicks, write_by_clicks
from attnbook.course.ch02.figures import SENTENCES, clicks_figure
from attnbook.course.kit.glosses import gloss_table
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import load_toy_model
from browser import NO_BROWSER, open_browser
from experiments.ch02_clicks import with_nouns_exchanged

LIVE = Path(__file__).resolve().parents[4] / "book" / "_static" / "live"


@pytest.fixture(scope="module")
def clicks_page(tmp_path_factory):
    """The figure with the engine and a model, from files."""
    names = ["numbers", "recurrent", "language", "map", "widget", "ch02_clicks"]
    tags = "".join(
        f'<script src="{(LIVE / f"{n}.js").as_uri()}"></script>'
        for n in ("../book", *names)
    )
    style = "".join(
        f'<link rel="stylesheet" href="{(LIVE / name).as_uri()}">'
        for name in ("../kit.css", "live.css")
    )
    path = tmp_path_factory.mktemp("clicks") / "index.html"
    path.write_text(
        f'<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">'
        f"<title>One</title>{style}<main><h1>One</h1>{clicks_figure().data}</main>{tags}",
        encoding="utf-8",
    )
    with open_browser() as browser:
        if browser is None:
            pytest.skip(NO_BROWSER)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto(path.as_uri())
        yield page


def test_the_reader_writes_the_sentence_by_mouse_and_key(clicks_page):
    page, pair = clicks_page, translate_by_rule(SENTENCES[1])
    page.locator("select").select_option(SENTENCES[1])
    words, said = page.locator(".clicks-source button"), page.locator(".clicks-said")
    _, clicks = with_nouns_exchanged(pair)
    for place, j in enumerate(clicks):
        if place % 2:
            words.nth(j).press("Enter")
        else:
            words.nth(j).click()
        page.locator(".clicks-output .clicks-card").nth(place).wait_for()
    cards = page.locator(".clicks-output [lang]").all_inner_texts()
    model = load_toy_model("bahdanau").half().float()
    assert cards == write_by_clicks(model, pair.source, clicks)
    right = page.locator(".clicks-output + p .clicks-card")
    expect(right.locator("[lang]")).to_have_text(list(pair.target))
    expect(right.locator("small").first).to_have_text(gloss_table()[pair.target[0]])
    slip = [a == b for a, b in zip(cards, pair.target, strict=False)].index(False)
    expect(said).to_contain_text(f"before the first slip: {slip}.")
    times = [words.nth(j).get_attribute("data-times").split() for j in clicks]
    assert all(str(i + 1) in of_word for i, of_word in enumerate(times))
    assert words.first.is_disabled()
    page.get_by_role("button", name="Undo").click()
    assert page.locator(".clicks-output .clicks-card").count() == len(clicks) - 1
    page.get_by_role("button", name="Start again").click()
    page.get_by_role("button", name="The model chooses").click()
    page.locator(".clicks-output .clicks-card").first.wait_for()
    assert page.locator(".clicks-output [lang]").all_inner_texts() == [pair.target[0]]
    assert check_accessible(page, "light") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_clicks_in_the_page_are_those_of_the_package(clicks_page):
    page, model = clicks_page, load_toy_model("bahdanau").half().float()
    page.evaluate("live.load('', 'bahdanau')")
    write = """([words, clicks]) => {
      const model = live.models.bahdanau;
      const steps = live.byClicks(model, live.encode(words, model.source), clicks);
      return live.decode(steps.map(step => step.id), model.target);
    }"""
    for pair in [*held_out_pairs(1, 5), *held_out_pairs(2, 5)]:
        clicks = aligned_clicks(pair)
        for order in (clicks, sorted(clicks), clicks[::-1], clicks[:3]):
            wanted = write_by_clicks(model, pair.source, order)
            assert page.evaluate(write, [pair.source, order]) == wanted
