"""The translator's figures, on a page opened from a file."""

import re

import pytest
import translator_page
from playwright.sync_api import expect

import live
from book_setup import FILES

STATIC = translator_page.LIVE.parent
OPTIONS = "<script>const DOCUMENTATION_OPTIONS = {};</script>"  # Sphinx's
SENTENCE = "People are waiting at the station."
FIGURES = {"light": "greedy", "caption": "greedy", "search": "beam"}


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """A page with a figure of each form."""
    folder = tmp_path_factory.mktemp("figures")
    translator_page.write_page(folder / "live")
    (folder / "book.js").write_bytes((STATIC / "book.js").read_bytes())
    scripts = "".join(
        f'<script defer src="{file}" data-parts="{live.PARTS}"'
        f' data-bytes="2400000" data-back="2500000" data-version="0"></script>'
        for file in ("book.js", *FILES["data-translator"][1:])
    )
    styles = '<link rel="stylesheet" href="live/live.css">'
    body = "".join(
        live.translator_figure(form, SENTENCE, ["Two dogs run."], method) + "</figure>"
        for form, method in FIGURES.items()
    )
    page = folder / "figures.html"
    head = f'<meta charset="utf-8"><title>x</title>{styles}{OPTIONS}{scripts}'
    page.write_text(
        f'<!doctype html><html lang="en">{head}<main>{body}</main>', encoding="utf-8"
    )
    return page.as_uri()


@pytest.fixture
def page(browser, at):
    """The page; without motion, a translation is there at once."""
    page = browser.new_page(reduced_motion="reduce")
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url))
    page.goto(at)
    yield page
    assert [p for p in problems if not p.startswith("file:")] == []
    page.close()


def figure(page, form):
    return page.locator(f"figure.tr-{form}")


def german(box):
    """The words that are written so far, when the translator has finished."""
    expect(box).not_to_have_attribute("aria-busy", "true", timeout=60_000)
    words = box.locator(".tr-word:not(.tr-later) > [lang]")
    return words.all_inner_texts()


def translate(box, text):
    box.locator("[type=text]").fill(text)
    box.locator("[type=text]").press("Enter")
    return german(box)


def test_the_stored_example_is_the_translation_and_needs_no_script(browser, at):
    page = browser.new_page(java_script_enabled=False)
    page.goto(at)
    for form in FIGURES:
        box = figure(page, form)
        last = "Bahnhof." if form == "search" else "Station."
        assert german(box)[::3][0] == "Leute"
        assert german(box)[-1] == last
        assert box.locator(".tr-links line").count() > 10
        for control in ("button", "select", "input:not(.tr-pair *)"):
            assert box.locator(f"{control}:visible").count() == 0
    assert figure(page, "search").locator("tbody tr").count() == 4
    page.close()


def test_nothing_is_loaded_before_it_is_asked_for(page):
    box = figure(page, "light")
    assert "2.4 MB" in box.locator("[type=submit]").inner_text()
    loaded = "document.querySelectorAll('script[src*=part-]').length"
    assert page.evaluate(loaded) == 0
    assert translate(box, SENTENCE)[-1] == "Station."
    assert page.evaluate(loaded) == live.PARTS
    assert box.locator("[type=submit]").inner_text() == "Translate"


def test_steps_and_steering_by_keyboard(page):
    box = figure(page, "caption")
    translate(box, SENTENCE)
    player = box.locator(".tr-player")
    player.locator("button").first.focus()
    page.keyboard.press("Home")
    assert german(box) == []
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert german(box) == ["Leute", "warten"]
    rows = box.locator(".tr-bar").all_inner_texts()
    assert len(rows) == 5
    assert rows[0].startswith("auf")
    box.locator(".tr-bar", has_text="am").press("Enter")
    assert german(box)[:3] == ["Leute", "warten", "am"]
    assert german(box)[-1] == "Bahnhof."
    told = box.locator(".live-score").inner_text()
    assert float(told.split(": ")[1].replace("−", "-")) > -4.33


def test_a_beam_is_drawn_and_finds_the_station(page):
    box = figure(page, "search")
    box.locator("[type=submit]").click()
    expect(box.locator(".tr-player")).to_be_visible(timeout=60_000)
    assert german(box)[-1] == "Bahnhof."
    best = box.locator("text.tr-best").all_text_contents()
    assert [re.sub(r"\W", "", text) for text in best[:4]] == [
        *german(box)[:3],
        "Bahnhof",
    ]
    assert box.locator("text.tr-dead").count() > 5
    box.get_by_role("slider", name="Beam width W").fill("1")
    assert german(box)[-1] == "Station."


def test_what_it_cannot_know_is_marked_and_the_rest_translated(page):
    box = figure(page, "light")
    assert "Hund" in translate(box, "A dog 漢 runs through the snow.")
    expect(box.locator(".tr-doubts")).to_contain_text("no 漢")
    assert box.locator(".tr-unknown").inner_text() == "漢\u00a0?"
    box.locator("[type=text]").fill(" ")
    box.locator("[type=submit]").click()
    expect(box.locator("[role=alert]")).to_have_text("Write a sentence first.")
    assert "Hund" in german(box)  # the last translation stays


def test_what_it_is_unsure_of_is_told_unless_attention_is_off(page):
    box = figure(page, "light")
    translate(box, SENTENCE)
    assert box.locator(".tr-doubts").inner_text() == ""
    translate(box, "I love you.")
    expect(box.locator(".tr-doubts")).to_contain_text("less sure of this translation")
    box.get_by_role("checkbox", name="attention").uncheck()
    expect(box.locator(".tr-doubts")).to_be_empty()


def test_what_is_shown_belongs_together_whatever_the_reader_writes_next(page):
    """The English, its German, and what a setting or a candidate makes of them."""
    box = figure(page, "search")
    field, english = box.locator("[type=text]"), box.locator(".tr-english")
    box.get_by_role("radio", name="greedy").check()
    words = translate(box, "A man bites a dog.")
    assert words == ["Ein", "Mann", "beißt", "einen", "Hund."]
    field.fill("Three cats sleep.")
    box.get_by_role("button", name="Back").click()
    expect(english).to_have_text("A man bites a dog.")
    box.get_by_role("button", name="Back").click()
    box.locator(".tr-bar").nth(1).click()
    assert german(box)[:3] == ["Ein", "Mann", "beißt"]
    expect(english).to_have_text("A man bites a dog.")
    box = figure(page, "light")
    translate(box, "A man bites a dog.")
    box.locator("[type=text]").fill("")
    box.get_by_role("checkbox", name="attention").uncheck()
    assert german(box)[:3] == ["Ein", "Mann", "mit"]
    expect(box.locator("[role=alert]")).to_be_empty()
    pair = box.locator(".tr-pair dd:visible")
    expect(pair).to_have_text(
        ["Ein Mann beißt einen Hund.", "Ein Hund beißt einen Mann."]
    )
    box.get_by_role("checkbox", name="order").uncheck()
    expect(pair).to_have_text(["Ein Mann beißt einen Hund."] * 2)


def test_a_setting_leaves_the_reader_where_they_are_and_the_page_at_work(page):
    """A beam of 8 for 90 words, moved again and again, and the page answers between."""
    page.emulate_media(reduced_motion="no-preference")
    box = figure(page, "search")
    translate(box, SENTENCE)
    box.locator(".tr-player button").first.focus()
    page.keyboard.press("End")
    box.get_by_role("slider", name="Length penalty").press("ArrowRight")
    german(box)
    at, of = box.locator(".tr-player > span").inner_text().split(" of ")
    assert at == of
    box.locator("[type=text]").fill(" ".join(["a dog and"] * 30))
    ticks = page.evaluate(
        """async () => {
            document.querySelector(".tr-search [type=range]").value = 8;
            const box = document.querySelector(".tr-search");
            box.querySelector("form").requestSubmit();
            let ticks = 0;
            while (box.ariaBusy === "true" && ticks < 20) {
                await new Promise((resolve) => setTimeout(resolve));
                ticks += 1;
            }
            return ticks;
        }"""
    )
    assert ticks == 20


def test_a_second_model_reads_the_german_back(page):
    """On request; from then on after every whole translation."""
    box = figure(page, "light")
    line, ask = box.locator(".tr-back"), box.locator(".tr-back button")
    expect(line).to_be_hidden()
    translate(box, "A penguin is playing chess.")
    expect(ask).to_have_text("Say it in English (loads 2.5 MB)", timeout=60_000)
    assert page.locator("script[src*='/back/']").count() == 0
    ask.press("Enter")
    expect(line.locator("q")).to_have_text("A pen is playing chess.", timeout=60_000)
    expect(ask).to_be_hidden()
    expect(box.get_by_role("button", name="Play")).to_be_focused()
    box.get_by_role("button", name="Back").click()
    expect(line).to_be_hidden()
    translate(box, SENTENCE)
    expect(line.locator("q")).to_contain_text("at the station")


def test_without_its_weights_the_example_stays(browser, at):
    page = browser.new_page(reduced_motion="reduce")
    page.route("**/translator/part-3.js*", lambda route: route.abort())
    page.goto(at)
    box = figure(page, "light")
    box.locator("[type=submit]").click()
    expect(box.locator("[role=alert]")).to_contain_text("could not be loaded")
    page.wait_for_timeout(200)  # for what still arrives
    expect(box.locator("[type=submit]")).to_contain_text("Translate (loads")
    page.unroute("**/translator/part-3.js*")  # the next try works
    assert translate(box, "Two dogs run.")[0] == "Zwei"
    page.close()
