"""The masks that the reader chooses: the page computes what the package does."""

import re
from itertools import product

import pytest
import torch
from page_checks import check_accessible, check_sliders
from widgets import Elements, alone_on_a_page, check_self_contained

from attnbook.core.vocabulary import PAD
from attnbook.course.ch06.widget_mask_explorer import (
    KIND,
    KINDS,
    LENGTHS,
    SAID,
    SCORES,
    WORDS,
    mask_explorer,
)
from attnbook.nn.masks import key_mask, masked_softmax, target_mask

HTML = mask_explorer().data
SIX, BOTH = range(1, 7), (True, False)
START = KIND, *LENGTHS.values(), 6, True, False
STATES = [*product(KINDS, SIX, SIX, (1, 3, 6), BOTH, BOTH)]
SHOW = """
states => states.map(([kind, source, target, near, masked, left]) => {
  const find = what => [...document.querySelectorAll(`input[type=${what}]`)];
  const kinds = ['encoder self', 'decoder self', 'cross'];
  find('radio')[kinds.indexOf(kind)].checked = true;
  [source, target, near].forEach((value, i) => { find('range')[i].value = value; });
  [masked, left].forEach((value, i) => { find('checkbox')[i].checked = value; });
  find('radio')[0].dispatchEvent(new Event('input', {bubbles: true}));
  const text = name => [...document.querySelectorAll(`.book-${name}`)].map(
    e => e.textContent);
  return ['result', 'row', 'column', 'cell'].map(text);
})
"""


@pytest.fixture(scope="module")
def page():
    """The figure alone on a page that has neither style nor network."""
    with alone_on_a_page(HTML) as page:
        yield page


@pytest.fixture
def show(page):
    """A function that shows a state: its sentence, rows, columns and cells."""
    page.evaluate(SHOW, [START])
    return lambda *state: page.evaluate(SHOW, [state])[0]


def sequence(side, source, target, *, left):
    """The six positions of a side: its tokens and padding."""
    real = WORDS[side][: {"source": source, "target": target}[side]]
    pads = ("pad",) * (6 - len(real))
    return [*pads, *real] if left else [*real, *pads]


def package(kind, source, target, near, masked, left):
    """The words of both sides, the mask that belongs here, and the weights."""
    asks, offers, causal = KINDS[kind]
    rows, columns = (sequence(s, source, target, left=left) for s in (asks, offers))
    ids = torch.tensor([[PAD if word == "pad" else PAD + 1 for word in columns]])
    distance = torch.arange(6)[:, None] - torch.arange(6)
    mask = (target_mask if causal else key_mask)(ids)[0, 0] & (distance.abs() < near)
    scores = torch.tensor(SCORES, dtype=torch.float64)
    return rows, columns, mask, masked_softmax(scores, mask if masked else mask | True)


def test_every_state_is_the_packages(page):
    for state, (said, *shown) in zip(STATES, page.evaluate(SHOW, STATES), strict=True):
        *words, mask, weights = package(*state)
        masked = state[4]
        assert shown[:2] == words, state
        found = torch.tensor([float(x or "nan") for x in shown[2]]).view(6, 6)
        wanted = weights.masked_fill(~mask & masked, torch.nan).float()
        torch.testing.assert_close(found, wanted, atol=0.0051, rtol=0, equal_nan=True)
        if masked:
            rows = re.search(r"Rows? ([\d, and]+) (?:is|are) fully masked", said[0])
            empty = re.findall(r"\d", rows[1]) if rows else []
            assert empty == [str(i + 1) for i in range(6) if not mask[i].any()]
            assert f" {int(mask.sum())} of 36 cells are allowed" in said[0]
        elif not mask.all():
            row, most = re.search(r"Row (\d) gives (\d\.\d\d)", said[0]).groups()
            hidden = weights.masked_fill(mask, 0).sum(-1)
            assert float(most) == pytest.approx(hidden.max().item(), abs=0.0051)
            assert hidden[int(row) - 1] == pytest.approx(hidden.max().item())


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        (START, SAID),
        (("encoder self", 6, 1, 6, True, False), "36 of 36 cells are allowed. No row "),
        ((KIND, 4, 5, 3, True, False), "key_mask and window of shape (1, 1, 6, 6): 1"),
        (("encoder self", 6, 1, 6, False, False), "The mask would hide nothing."),
        (
            ("decoder self", 1, 4, 6, True, True),
            "target_mask of shape (1, 1, 6, 6): 10 of 36 cells are allowed. Rows 1 and "
            "2 are fully masked: zeros.",
        ),
        (
            ("decoder self", 1, 3, 2, True, False),
            "target_mask and window of shape (1, 1, 6, 6): 6 of 36 cells are allowed. "
            "Rows 5 and 6 are fully masked: zeros. Row 4 is padding, but may still "
            "attend.",
        ),
    ],
)
def test_the_sentence(show, state, wanted):
    assert wanted in show(*state)[0][0]


def test_without_scripts_the_first_state_stands_there_as_the_script_draws_it(
    page, show
):
    names = "result", "row", "column", "cell"
    elements = Elements(HTML)
    drawn = [[t.strip() for _, t in elements.of(f"book-{name}")] for name in names]
    hidden = [a["class"] for _, a in elements.found if a.get("hidden") == "hidden"]
    assert hidden == ["book-controls"]
    add = "html => document.querySelector('main').insertAdjacentHTML('beforeend', html)"
    assert drawn == show(*START)
    page.evaluate(add, HTML)
    page.get_by_role("radio", name="cross").first.dispatch_event("input")
    looks = "e => [...e.querySelectorAll('td, th')].map(e => e.style.cssText)"
    looks = [table.evaluate(looks) for table in page.locator("table").all()]
    page.evaluate("document.querySelectorAll('.book-stepper')[1].remove()")
    rounded = re.compile(r"\d+(?:\.\d+)?")
    for pair in zip(*looks, strict=True):
        one, two = ([float(x) for x in rounded.findall(look)] for look in pair)
        assert len({rounded.sub("", look) for look in pair}) == 1
        assert one == pytest.approx(two, abs=0.51)


def test_keys_buttons_and_clicks_move_it(page, show):
    source = page.get_by_label("Source length", exact=True)
    source.press("ArrowRight")
    page.get_by_label("Source length: on").click()
    page.get_by_label("Window: back").click()
    page.get_by_role("checkbox", name="mask").press("Space")
    page.get_by_text("padding on the left").click()
    page.get_by_role("radio", name="cross").press("ArrowUp")
    said = page.locator(".book-result").inner_text()
    assert source.get_attribute("aria-valuetext") == "6"
    window = page.get_by_label("Window", exact=True)
    assert window.get_attribute("aria-valuetext") == "5"
    on = page.get_by_label("Source length: on")
    assert on.get_attribute("aria-disabled") == "true"
    assert not source.is_visible()
    assert [said] == show("decoder self", 6, 5, 5, False, True)[0]
    send = "document.forms[0].dispatchEvent(new Event('submit', {cancelable: true}))"
    assert not page.evaluate(send)  # the form is never sent


def test_it_fits_a_phone_and_is_accessible(page, show):
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator("input, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24
    assert check_sliders(page) == []
    assert [*check_accessible(page, "light"), *check_accessible(page, "dark")] == []
    check_self_contained(HTML, controls=14)
