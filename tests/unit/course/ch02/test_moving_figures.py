"""What moves in chapter 2: page and package agree, and everything can be reached."""

import re

import pytest
from page_checks import check_accessible
from widgets import alone_on_a_page, check_first_state, check_self_contained, parts

from attnbook.course.ch02 import widget_film, widget_query
from attnbook.course.ch02.widget_query import QueryState

NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?")
SHOW = """
states => states.map(([x, tick]) => {
  const slider = document.querySelector('[type=range]');
  const box = document.querySelector('[type=checkbox]');
  slider.value = x;
  if (box) box.checked = tick;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  return [document.querySelector('.book-result').textContent,
    document.querySelector('svg').outerHTML];
})
"""
FILM = widget_film.frames()
# For each figure its HTML, the number of its controls, and states: what the page is
# given, what it should draw, what it should say.
FIGURES = {
    "query": (
        widget_query.query_figure().data,
        4,
        [
            ((x, tick), widget_query.picture(state), widget_query.result(state))
            for x in range(-10, 11, 5)
            for tick in (True, False)
            for state in [QueryState(x / 10, tick)]
        ],
    ),
    "film": (
        widget_film.film().data,
        4,
        [
            ((k, True), widget_film.picture(FILM[k]), widget_film.result(FILM[k]))
            for k in (0, 1, 12, 13, 30, len(FILM) - 1)
        ],
    ),
}


@pytest.fixture(scope="module", params=FIGURES)
def figure(request):
    """Each figure on a phone's page without style or network, and its states."""
    html, _, states = FIGURES[request.param]
    with alone_on_a_page(html) as page:
        yield page, states


def check_alike(found, wanted):
    """The same but for a last digit that was rounded otherwise."""
    assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted)
    for one, other in zip(NUMBER.findall(found), NUMBER.findall(wanted), strict=True):
        digits = len(other.partition(".")[2])
        one, other = (float(x.replace("−", "-")) for x in (one, other))
        assert abs(one - other) <= 1.01 * 10**-digits


def test_the_page_draws_and_says_what_the_package_does(figure):
    page, states = figure
    given, pictures, texts = zip(*states, strict=True)
    shown = page.evaluate(SHOW, given)
    for (said, svg), picture, text in zip(shown, pictures, texts, strict=True):
        check_alike(said, text)
        for one, other in zip(parts(svg), parts(picture), strict=True):
            assert one[0] == other[0]
            check_alike(one[2], other[2])
            assert one[1].keys() == other[1].keys()
            for name, value in other[1].items():
                check_alike(one[1][name], value)


def test_it_is_reached_by_key_and_finger_and_fits_a_phone(figure):
    page, _ = figure
    slider = page.locator("[type=range]")
    slider.press("Home")
    first = page.locator("output").inner_text()
    slider.press("ArrowRight")
    assert page.locator("output").inner_text() != first
    page.get_by_role("button", name="back").click()
    assert page.locator("output").inner_text() == first
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert check_accessible(page, "light") + check_accessible(page, "dark") == []
    for control in page.locator("input, button").all():
        assert control.bounding_box()["height"] >= 24


def test_the_film_plays_and_pauses(figure):
    page, _ = figure
    play, step = page.locator(".book-play"), page.locator("output")
    if not play.count():
        return  # the other figure
    page.evaluate(SHOW, [(len(FILM) - 1, True)])
    play.click()
    page.wait_for_function(
        "(x => 15 < x && x < 700)(+document.querySelector('output').textContent)"
    )
    play.press("Enter")
    assert play.inner_text() == "Play"
    stopped = step.inner_text()
    page.wait_for_timeout(300)  # three pictures' time
    assert step.inner_text() == stopped


@pytest.mark.parametrize("name", FIGURES)
def test_without_scripts_there_is_a_still(name):
    html, controls, _ = FIGURES[name]
    check_self_contained(html, controls)
    if name == "query":
        start = widget_query.START
        said = widget_query.result(start)
        check_first_state(html, widget_query.picture(start), said, said)
    else:
        said = widget_film.result(FILM[-1]).replace("<", "&lt;")
        check_first_state(html, widget_film.picture(FILM[-1]), said, said)
