"""The translator in the book's own pages: for everyone, in any light, on a phone."""

import re

import pytest
from page_checks import ON_PHONE, check_accessible, check_targets, check_width
from playwright.sync_api import expect

PAGES = {
    "search": "book/ch10_decoding.html",
    "caption": "book/ch12_training.html",
    "light": "book/intro.html",
    "cache": "book/a3_long_and_cheap.html",
}


@pytest.mark.parametrize("form", PAGES)
def test_it_translates_and_is_accessible(visit, serve, html, form):
    page = visit(PAGES[form], serve(html), reduced_motion="reduce")
    figure = page.locator(f"figure.tr-{form}")
    expect(figure.locator(".tr-later")).to_have_count(0)
    stored = figure.locator(".tr-german").inner_text()
    figure.get_by_role("button", name="Translate").click()
    expect(figure).to_have_attribute("aria-busy", "false")
    assert figure.locator(".tr-german").inner_text() == stored
    for theme in ("light", "dark"):
        assert check_accessible(page, theme, f"figure.tr-{form}") == []


@pytest.mark.parametrize("form", ["search", "light"])
def test_by_touch_on_a_phone(visit, form):
    page = visit(PAGES[form], reduced_motion="reduce", **ON_PHONE)
    figure = page.locator(f"figure.tr-{form}")
    figure.locator(".tr-chip").first.tap()
    expect(figure).to_have_attribute("aria-busy", "false")
    expect(figure.locator(".tr-german")).to_be_in_viewport(ratio=1)
    place = figure.locator(".tr-player > span")
    last = int(place.inner_text().split(" of ")[1])
    figure.get_by_role("button", name="Back").tap()
    expect(place).to_have_text(f"{last - 1} of {last}")
    figure.locator("[type=text]").fill(70 * "x")
    figure.locator("[type=text]").press("Enter")
    expect(figure.locator(".tr-english").first).to_have_text(70 * "x")
    assert check_width(page) == []
    assert check_targets(figure) == []


def test_with_a_short_cache_it_says_what_the_appendix_prints(visit):
    page = visit(PAGES["cache"], reduced_motion="reduce")
    figure = page.locator("figure.tr-cache")
    figure.get_by_role("button", name="Translate").click()
    for kept, printed in {
        "all": "all:",
        "the last six": "six:",
        "<bos>": "<bos>",
    }.items():
        figure.get_by_role("radio", name=kept).check()
        expect(figure).to_have_attribute("aria-busy", "false")
        said = " ".join(figure.locator(".tr-word > [lang]").all_inner_texts())
        outputs = page.locator(".output pre").all_text_contents()
        assert re.search(rf"^{printed}\s+{re.escape(said)}$", "\n".join(outputs), re.M)
    reach = figure.locator(".tr-links line[data-step='9']").evaluate_all(
        "lines => lines.map(({y1}) => y1.baseVal.value - 0.5)"
    )
    assert set(reach) <= {0, 5, 6, 7, 8, 9}  # <bos> and the last five
