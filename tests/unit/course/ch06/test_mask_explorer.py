"""The masks that the reader chooses: page and package agree."""

import math
import re
from itertools import product

import pytest
from widgets import alone_on_a_page, check_first_state, check_self_contained, parts

from attnbook.course.ch06.widget_mask_explorer import (
    KINDS,
    POSITIONS,
    SCORES,
    START,
    MaskState,
    describe,
    grid,
    intended_mask,
    mask_explorer,
    picture,
    result,
    sequence,
)
from page_checks import check_accessible, check_sliders

HTML = mask_explorer().data
LENGTHS = range(1, POSITIONS + 1)
BOTH = (True, False)
STATES = [MaskState(*choice) for choice in product(KINDS, LENGTHS, LENGTHS, BOTH, BOTH)]
NUMBER = re.compile(r"\d+\.\d+")
# Move the controls to each of some states; return what the page then shows.
SHOW = """
states => states.map(([kind, source, target, masked, left]) => {
  const find = what => [...document.querySelectorAll(`input[type=${what}]`)];
  const kinds = ['encoder self', 'decoder self', 'cross'];
  find('radio')[kinds.indexOf(kind)].checked = true;
  const sliders = find('range'), boxes = find('checkbox');
  [source, target].forEach((value, i) => { sliders[i].value = value; });
  [masked, left].forEach((value, i) => { boxes[i].checked = value; });
  boxes[0].dispatchEvent(new Event('input', {bubbles: true}));
  return [document.querySelector('.book-result').textContent,
    document.querySelector('svg').outerHTML];
})
"""


@pytest.fixture(scope="module")
def page():
    """The figure alone on a page that has neither style nor network."""
    with alone_on_a_page(HTML) as page:
        yield page


@pytest.fixture
def fresh(page):
    """The page as it was at first."""
    page.evaluate(SHOW, [START])
    return page


def shown(page):
    return page.locator(".book-result").inner_text()


def alike(found, wanted):
    """Whether two texts are the same but for rounding of the last digit."""
    if NUMBER.sub("#", found) != NUMBER.sub("#", wanted):
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(wanted), strict=True)
    return all(abs(float(one) - float(other)) < 0.0101 for one, other in pairs)


def may_attend(state, i, j):
    """The rule in words: no pad as a key, and in the decoder no later key."""
    _, offers = KINDS[state.kind]
    return sequence(offers, state)[j] != "pad" and (
        state.kind != "decoder self" or j <= i
    )


def test_the_weights_share_1_among_what_may_be_attended_to():
    for state in STATES:
        allowed, weights = grid(state)
        for i, j in product(range(POSITIONS), repeat=2):
            assert allowed[i, j] == (not state.masked or may_attend(state, i, j))
        for i, scores in enumerate(SCORES):
            total = sum(math.exp(e) for j, e in enumerate(scores) if allowed[i, j])
            wanted = [
                math.exp(e) / total if allowed[i, j] else 0.0
                for j, e in enumerate(scores)
            ]
            assert weights[i].tolist() == pytest.approx(wanted, abs=1e-12), state


def test_padding_fills_a_side_up_to_six_positions():
    state = MaskState("cross", 2, 3, True, False)
    assert sequence("source", state) == ("the", "old", "pad", "pad", "pad", "pad")
    assert sequence("target", state) == ("bos", "maron", "velin", "pad", "pad", "pad")
    left = state._replace(left=True)
    assert sequence("source", left) == ("pad", "pad", "pad", "pad", "the", "old")


def test_what_the_caption_says_of_pads_holds():
    for state in STATES:
        asks, offers = KINDS[state.kind]
        allowed, _ = grid(state._replace(masked=True))
        for i, j in product(range(POSITIONS), repeat=2):
            if sequence(offers, state)[j] == "pad":
                assert not allowed[i, j]
        if not state.left:  # then a pad that asks has words before it
            pads = [i for i, w in enumerate(sequence(asks, state)) if w == "pad"]
            assert all(allowed[i].any() for i in pads)


def test_the_result_in_words():
    cross = MaskState("cross", 4, 4, True, False)
    assert result(cross) == (
        "key_mask of shape (1, 1, 1, 6): 24 of 36 cells are allowed. "
        "No row is fully masked. Rows 5 and 6 are padding, but may still attend."
    )
    assert result(MaskState("decoder self", 1, 4, True, True)) == (
        "target_mask of shape (1, 1, 6, 6): 10 of 36 cells are allowed. "
        "Rows 1 and 2 are fully masked: zeros."
    )
    assert result(MaskState("encoder self", 6, 1, True, False)) == (
        "key_mask of shape (1, 1, 1, 6): 36 of 36 cells are allowed. "
        "No row is fully masked."
    )
    assert result(MaskState("encoder self", 6, 1, False, False)) == (
        "No mask: all 36 cells are allowed. The mask would hide nothing."
    )


def test_without_a_mask_the_row_that_leaks_most_is_named():
    for state in STATES:
        found = re.search(r"Row (\d) gives (\d\.\d\d) of its weight", result(state))
        if state.masked or intended_mask(state).all():
            assert found is None
            continue
        total = [sum(map(math.exp, row)) for row in SCORES]
        hidden = [
            sum(math.exp(e) for j, e in enumerate(row) if not may_attend(state, i, j))
            / total[i]
            for i, row in enumerate(SCORES)
        ]
        assert float(found[2]) == pytest.approx(max(hidden), abs=0.0051)
        assert hidden[int(found[1]) - 1] == pytest.approx(max(hidden))


def test_the_page_says_what_the_package_computes(page):
    for state, (said, _) in zip(STATES, page.evaluate(SHOW, STATES), strict=True):
        assert alike(said, result(state)), state


def test_the_page_draws_as_the_package_does(page):
    some = STATES[::11]  # with each choice of every control
    for state, (_, svg) in zip(some, page.evaluate(SHOW, some), strict=True):
        pairs = zip(parts(svg), parts(picture(state)), strict=True)
        for (tag, found, text), (wanted_tag, wanted, wanted_text) in pairs:
            assert tag == wanted_tag
            assert found.keys() == wanted.keys()
            assert alike(text, wanted_text), (state, tag, wanted_text)
            for name, value in wanted.items():
                assert alike(found[name], value), (state, tag, name)


def test_controls_move_it_with_keys_buttons_and_a_click(fresh):
    source = fresh.get_by_role("slider").first
    source.press("ArrowRight")
    fresh.get_by_label("Source length: on").click()
    fresh.get_by_label("Target length: back").click()
    assert shown(fresh) == result(MaskState("cross", 6, 4, True, False))
    assert source.get_attribute("aria-valuetext") == "6"
    on = fresh.get_by_label("Source length: on")
    assert on.get_attribute("aria-disabled") == "true"
    fresh.get_by_role("checkbox", name="mask").press("Space")
    assert shown(fresh) == result(MaskState("cross", 6, 4, False, False))
    fresh.get_by_role("checkbox", name="mask").press("Space")
    fresh.get_by_text("padding on the left").click()
    assert shown(fresh) == result(MaskState("cross", 6, 4, True, True))
    fresh.get_by_role("radio", name="cross").press("ArrowUp")
    assert shown(fresh) == result(MaskState("decoder self", 6, 4, True, True))


def test_the_form_is_never_sent(fresh):
    send = "new Event('submit', {cancelable: true})"
    assert not fresh.evaluate(f"document.forms[0].dispatchEvent({send})")


def test_only_the_lengths_that_count_can_be_chosen(fresh):
    for kind, sides in KINDS.items():
        fresh.get_by_role("radio", name=kind).check()
        for side in ("source", "target"):
            slider = fresh.get_by_label(f"{side.title()} length", exact=True)
            assert slider.is_visible() == (side in sides)


def test_it_is_accessible_and_its_sliders_change_the_picture(fresh):
    assert check_accessible(fresh, "light") == []
    assert check_sliders(fresh) == []


def test_on_a_phone_it_fits_and_can_be_touched_and_read(fresh):
    assert fresh.evaluate("document.documentElement.scrollWidth") <= 390
    for control in fresh.locator("input, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24
    drawn = float(fresh.locator("svg").get_attribute("width"))
    assert drawn <= 350  # what the book's own page leaves: text keeps its 16 pixels


def test_without_scripts_the_first_state_stands_there_as_an_image():
    check_first_state(HTML, picture(START), describe(START), result(START))


def test_the_image_gives_way_to_what_can_move(fresh):
    assert fresh.locator("svg").is_visible()
    assert fresh.locator("img").is_hidden()


def test_it_asks_for_nothing_and_keeps_its_keys():
    check_self_contained(HTML, controls=11)


def test_the_same_bytes_every_time_and_a_caption_of_ones_own():
    assert mask_explorer().data == HTML
    changed = mask_explorer("**Less & less.** Look.").data
    assert "<strong>Less &amp; less.</strong> Look.</figcaption>" in changed
