"""The window of local attention that the reader moves: page and package agree."""

import re

import pytest
import torch
from widgets import alone_on_a_page, check_first_state, check_self_contained, parts

from attnbook.course.ch03.widget_local_window import (
    SCORES,
    START,
    WIDEST,
    WindowState,
    local_window,
    picture,
    result,
    weigh,
)
from attnbook.nn.local_attention import MonotonicAlignment, PredictiveAlignment

S = len(SCORES)
HTML = local_window().data
CENTRES = [tenths / 10 for tenths in range(10 * S - 9)]
STATES = [
    WindowState(p, half_width, bell)
    for p in CENTRES
    for half_width in range(1, WIDEST + 1)
    for bell in (True, False)
]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# Move the controls to each of some states; return what the page then shows.
SHOW = """
states => states.map(([p, halfWidth, bell]) => {
  const [slider, width, box] = document.querySelectorAll('input');
  slider.value = Math.round(10 * p); width.value = halfWidth; box.checked = bell;
  box.dispatchEvent(new Event('input', {bubbles: true}));
  return [document.querySelector('.book-result').textContent,
    document.querySelector('svg').outerHTML];
})
"""


@pytest.fixture(scope="module")
def page():
    """The window alone on a page that has neither style nor network."""
    with alone_on_a_page(HTML) as page:
        yield page


@pytest.fixture
def fresh(page):
    """The page as it was at first."""
    page.evaluate(SHOW, [START])
    return page


def alike(found, wanted):
    """Whether two texts are the same but for rounding of the last digit."""
    if NUMBER.sub("#", found) != NUMBER.sub("#", wanted):
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(wanted), strict=True)
    for one, other in pairs:
        digits = len(other.partition(".")[2])
        if abs(float(one) - float(other)) > 1.01 * 10**-digits * (digits > 0):
            return False
    return True


def test_the_weights_are_those_of_local_p_and_local_m():
    scores = torch.tensor(SCORES, dtype=torch.float64)[None, None]
    h, mask = torch.zeros(1, 1, 1).double(), torch.ones(1, S, dtype=torch.bool)
    for state in STATES:
        soft, _, weights = weigh(state)
        assert soft.sum() == pytest.approx(1)
        assert weights.sum() < 1 if state.bell else torch.equal(weights, soft)
        local_p = PredictiveAlignment(1, state.half_width, state.sigma).double()
        local_p.centre = lambda h, mask, p=state.p: torch.tensor([[p]]).double()
        wanted = local_p(scores, h, 0, mask)[0, 0]
        assert torch.allclose(weights, wanted, atol=1e-12), state
        if not state.bell and state.p == int(state.p):
            wanted = MonotonicAlignment(state.half_width)(
                scores, h, int(state.p), mask
            )[0, 0]
            assert torch.allclose(weights, wanted, atol=1e-12), state


def test_the_page_says_what_the_package_computes(page):
    some = STATES[::3]  # with whole centres, each half-width, with and without
    for state, (said, _) in zip(some, page.evaluate(SHOW, some), strict=True):
        assert alike(said, result(state)[0]), state


def test_the_page_draws_as_the_package_does(page):
    some = STATES[::17]  # likewise
    for state, (_, svg) in zip(some, page.evaluate(SHOW, some), strict=True):
        pairs = zip(parts(svg), parts(picture(state)), strict=True)
        for (tag, found, text), (wanted_tag, wanted, wanted_text) in pairs:
            assert tag == wanted_tag
            assert found.keys() == wanted.keys()
            assert alike(text, wanted_text), (state, tag, wanted_text)
            for name, value in wanted.items():
                assert alike(found[name], value), (state, tag, name)


def test_controls_move_it_with_keys_buttons_and_a_click(fresh):
    slider, width, box = fresh.locator("input").all()
    shown = fresh.locator(".book-result")
    centre, half_width = fresh.locator(".book-controls output").all()
    slider.press("ArrowRight")
    assert centre.inner_text() == slider.get_attribute("aria-valuetext") == "5.4"
    fresh.get_by_label("Centre: back").click()
    fresh.get_by_label("Centre: back").click()
    assert centre.inner_text() == "5.2"
    fresh.get_by_label("Half-width: on").click()
    width.press("ArrowRight")
    assert half_width.inner_text() == width.get_attribute("aria-valuetext") == "4"
    assert shown.inner_text() == result(WindowState(5.2, 4, True))[0]
    box.press("Space")
    assert shown.inner_text() == result(WindowState(5.2, 4, False))[0]
    slider.click(position={"x": 1, "y": 10})
    assert centre.inner_text() == "0.0"
    back, on = (fresh.get_by_label(f"Centre: {way}") for way in ("back", "on"))
    assert back.get_attribute("aria-disabled") == "true"
    assert on.get_attribute("aria-disabled") == "false"
    width.press("End")
    assert fresh.get_by_label("Half-width: on").get_attribute("aria-disabled") == "true"


def test_on_a_phone_it_fits_and_can_be_touched_and_read(fresh):
    assert fresh.evaluate("document.documentElement.scrollWidth") <= 390
    for control in fresh.locator("input, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24
    svg = fresh.locator("svg")
    assert svg.is_visible()
    assert fresh.locator("img").is_hidden()
    drawn = float(svg.get_attribute("width"))
    # The book's own page leaves 350 pixels.
    assert 16 * min(350, drawn) / drawn >= 11


def test_without_scripts_the_first_state_stands_there_as_an_image():
    check_first_state(HTML, picture(START), " ".join(result(START)), result(START)[0])


def test_it_asks_for_nothing_and_keeps_its_keys():
    check_self_contained(HTML, controls=7)
    changed = local_window("**Less & less.** Look.").data
    assert "<strong>Less &amp; less.</strong> Look.</figcaption>" in changed
