"""The translator in the book's pages: for everyone, in any light, on a phone."""

import re

import pytest
from page_checks import ON_PHONE, check_accessible, check_targets, check_width
from playwright.sync_api import expect

import live

PAGES = {
    "search": "book/ch10_decoding.html",
    "caption": "book/ch12_training.html",
    "light": "book/intro.html",
    "cache": "book/a3_long_and_cheap.html",
}
STATION = "People are waiting at the station."


@pytest.fixture
def translator(visit):
    """A function that opens the page of a form, and returns its figure.

    Without motion, a translation is there at once.
    """

    def opened(form, *site, **options):
        page = visit(PAGES[form], *site, reduced_motion="reduce", **options)
        return page.locator(f"figure.tr-{form}")

    return opened


def german(figure):
    """The words that are written so far, when the translator has finished."""
    expect(figure).not_to_have_attribute("aria-busy", "true", timeout=60_000)
    return [*filter(None, figure.locator(".tr-word > [lang]").all_inner_texts())]


def translate(figure, text):
    figure.locator("[type=text]").fill(text)
    figure.locator("[type=text]").press("Enter")
    return german(figure)


@pytest.mark.parametrize("form", PAGES)
def test_the_stored_example_is_the_translation(translator, serve, html, form):
    """And the weights are loaded only when it is asked for, over HTTP, too."""
    figure = translator(form, serve(html))
    stored, submit = german(figure), figure.locator("[type=submit]")
    loaded = "document.querySelectorAll('script[src*=part-]').length"
    expect(submit).to_have_text(re.compile(r"\(loads \d\.\d MB\)"))
    assert figure.page.evaluate(loaded) == 0
    submit.click()
    expect(submit).to_have_text("Translate", timeout=60_000)
    assert german(figure) == stored
    assert figure.page.evaluate(loaded) == live.PARTS
    for theme in ("light", "dark"):
        assert check_accessible(figure.page, theme, f"figure.tr-{form}") == []


@pytest.mark.parametrize("form", PAGES)
def test_the_stored_example_needs_no_script(translator, form):
    figure = translator(form, java_script_enabled=False)
    assert len(german(figure)) >= 4
    assert figure.locator(".tr-links line").count() > 10
    assert figure.locator("tbody tr").count() == (4 if form == "search" else 0)
    for control in ("button", "select", "input:not(.tr-pair *)"):
        assert figure.locator(f"{control}:visible").count() == 0


@pytest.mark.parametrize("form", ["search", "light"])
def test_by_touch_on_a_phone(translator, form):
    figure = translator(form, **ON_PHONE)
    figure.locator(".tr-chip").first.tap()
    expect(figure).to_have_attribute("aria-busy", "false")
    expect(figure.locator(".tr-german")).to_be_in_viewport(ratio=1)
    place = figure.locator(".tr-player > span")
    last = int(place.inner_text().split(" of ")[1])
    figure.get_by_role("button", name="Back").tap()
    expect(place).to_have_text(f"step {last - 1} of {last}")
    figure.locator("[type=text]").fill(70 * "x")
    figure.locator("[type=text]").press("Enter")
    expect(figure.locator(".tr-english").first).to_have_text(70 * "x")
    assert check_width(figure.page) == []
    assert check_targets(figure) == []


def test_with_a_short_cache_it_says_what_the_appendix_prints(translator):
    figure = translator("cache")
    figure.get_by_role("button", name="Translate").click()
    printed = "\n".join(figure.page.locator(".output pre").all_text_contents())
    for kept, name in {"all": "all:", "the last six": "six:", "<bos>": "<bos>"}.items():
        figure.get_by_role("radio", name=kept).check()
        expect(figure).to_have_attribute("aria-busy", "false")
        said = re.escape(" ".join(german(figure)))
        assert re.search(rf"^{name}\s+{said}$", printed, re.MULTILINE)
    reach = figure.locator(".tr-links line[data-step='9']").evaluate_all(
        "lines => lines.map(({y1}) => y1.baseVal.value - 0.5)"
    )
    assert set(reach) <= {0, 5, 6, 7, 8, 9}  # <bos> and the last five


def test_steps_and_steering_by_keyboard(translator):
    figure = translator("caption")
    translate(figure, STATION)
    keyboard = figure.page.keyboard
    figure.locator(".tr-player button").first.focus()
    keyboard.press("Home")
    assert german(figure) == []
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    assert german(figure) == ["Leute", "warten"]
    rows = figure.locator(".tr-bar").all_inner_texts()
    assert len(rows) == 5
    assert rows[0].startswith("auf")
    figure.locator(".tr-bar", has_text="am").press("Enter")
    assert german(figure)[:3] == ["Leute", "warten", "am"]
    assert german(figure)[-1] == "Bahnhof."
    told = figure.locator(".live-score").inner_text()
    assert float(told.split(": ")[1].replace("−", "-")) > -4.33


@pytest.mark.parametrize("form", ["light", "search"])
def test_words_grow_as_they_are_written_and_no_button_moves(translator, form):
    """A word before the full stop is there as soon as it is generated."""
    figure = translator(form, **ON_PHONE)
    words = translate(figure, "A dog runs across a soccer field.")
    back = figure.get_by_role("button", name="Back")
    last = int(figure.locator(".tr-player > span").inner_text().split(" of ")[1])
    place = back.bounding_box()
    before = 2 if form == "light" else 1  # steps after the last letters
    for _ in range(before):
        back.tap()
    assert words[-1].endswith(".")
    if form == "light":
        assert german(figure) == [*words[:-1], words[-1].removesuffix(".")]
    for _ in range(last - before):
        assert back.bounding_box() == place
        back.tap()
    assert german(figure) == []
    assert back.bounding_box() == place


def test_a_beam_is_drawn_and_finds_the_station(translator):
    figure = translator("search")
    figure.get_by_role("radio", name="beam").check()
    assert translate(figure, STATION)[-1] == "Bahnhof."
    best = figure.locator("text.tr-best").all_text_contents()
    assert [re.sub(r"\W", "", text) for text in best[:4]] == [
        *german(figure)[:3],
        "Bahnhof",
    ]
    assert figure.locator("text.tr-dead").count() > 5
    figure.get_by_role("slider", name="Beam width W").fill("1")
    assert german(figure)[-1] == "Station."


def test_what_it_cannot_know_is_marked_and_the_rest_translated(translator):
    figure = translator("light")
    assert "Hund" in translate(figure, "A dog 漢 runs through the snow.")
    expect(figure.locator(".tr-doubts")).to_contain_text("no 漢")
    assert figure.locator(".tr-unknown").inner_text() == "漢\u00a0?"
    figure.locator("[type=text]").fill(" ")
    figure.locator("[type=submit]").click()
    expect(figure.locator("[role=alert]")).to_have_text("Write a sentence first.")
    assert "Hund" in german(figure)  # the last translation stays


def test_what_it_is_unsure_of_is_told_unless_attention_is_off(translator):
    figure = translator("light")
    translate(figure, STATION)
    assert figure.locator(".tr-doubts").inner_text() == ""
    translate(figure, "I love you.")
    doubts = figure.locator(".tr-doubts")
    expect(doubts).to_contain_text("less sure of this translation")
    figure.get_by_role("checkbox", name="attention").uncheck()
    expect(doubts).to_be_empty()


def test_what_is_shown_belongs_together_whatever_the_reader_writes_next(translator):
    """The English, its German, and what a setting or a candidate makes of them."""
    figure = translator("search")
    figure.get_by_role("radio", name="greedy").check()
    words = translate(figure, "A man bites a dog.")
    assert words == ["Ein", "Mann", "beißt", "einen", "Hund."]
    figure.locator("[type=text]").fill("")
    for _ in range(2):
        figure.get_by_role("button", name="Back").click()
    figure.locator(".tr-bar").nth(1).click()
    assert german(figure)[:3] == ["Ein", "Mann", "beißt"]
    figure.get_by_role("radio", name="beam").check()
    assert german(figure) == words
    expect(figure.locator(".tr-english")).to_have_text("A man bites a dog.")
    expect(figure.locator("[role=alert]")).to_be_empty()


def test_a_setting_leaves_the_reader_where_they_are_and_the_page_at_work(translator):
    """A beam of 8 for 90 words, moved again and again, and the page answers between."""
    figure = translator("search")
    figure.page.emulate_media(reduced_motion="no-preference")
    figure.get_by_role("radio", name="beam").check()
    translate(figure, STATION)
    figure.locator(".tr-player button").first.focus()
    figure.page.keyboard.press("End")
    figure.get_by_role("slider", name="Length penalty").press("ArrowRight")
    german(figure)
    at, of = figure.locator(".tr-player > span").inner_text().split(" of ")
    assert at == f"step {of}"
    figure.locator("[type=text]").fill(" ".join(["a dog and"] * 30))
    ticks = figure.evaluate(
        """async box => {
            box.querySelector("[name=width]").value = 8;
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


def test_a_second_model_reads_the_german_back(translator):
    """On request; from then on after every whole translation."""
    figure = translator("light")
    line, ask = figure.locator(".tr-back"), figure.locator(".tr-back button")
    expect(line).to_be_hidden()
    translate(figure, "A penguin is playing chess.")
    words = re.compile(r"Say it in English \(loads \d\.\d MB\)")
    expect(ask).to_have_text(words, timeout=60_000)
    assert figure.page.locator("script[src*='/back/']").count() == 0
    ask.press("Enter")
    expect(line.locator("q")).to_have_text("A pen is playing chess.", timeout=60_000)
    expect(ask).to_be_hidden()
    expect(figure.get_by_role("button", name="Play")).to_be_focused()
    figure.get_by_role("button", name="Back").click()
    expect(line).to_be_hidden()
    translate(figure, STATION)
    expect(line.locator("q")).to_contain_text("at the station")


def test_without_its_weights_the_example_stays(browser, html):
    page = browser.new_page(reduced_motion="reduce")
    page.route("**/part-3.js*", lambda route: route.abort())
    page.goto(f"{html.as_uri()}/{PAGES['light']}")
    figure = page.locator("figure.tr-light")
    figure.locator("[type=submit]").click()
    expect(figure.locator("[role=alert]")).to_contain_text("could not be loaded")
    page.wait_for_timeout(200)  # for what still arrives
    expect(figure.locator("[type=submit]")).to_contain_text("Translate (loads")
    page.unroute("**/part-3.js*")  # the next try works
    assert translate(figure, "Two dogs run.")[0] == "Zwei"
    page.close()
