"""Six planted masks: what the page shows is what the leak test finds."""

import pytest
from page_checks import check_accessible, check_sliders
from widgets import Elements, alone_on_a_page, check_self_contained

from attnbook.course.ch06.widget_red_team import (
    BUGS,
    ORDER,
    found_by_influence,
    red_team,
)

HTML = red_team().data
NAMES = [[*BUGS][i] for i in ORDER]


@pytest.fixture(scope="module")
def page():
    with alone_on_a_page(HTML) as page:
        yield page


@pytest.fixture
def go(page):
    """A function that goes to a bug, counted from 1."""

    def to(number):
        slider = page.get_by_label("Bug", exact=True)
        slider.fill(str(number))
        return page.locator(".book-cell").all_inner_texts()

    return to


def said(page):
    return page.locator(".book-result").inner_text()


def test_crosses_and_rings_by_the_definition_of_each_mask():
    """i reads j, by hand: 3 words and 2 padding tokens."""
    allowed = {
        "no causal mask": lambda i, j: j < 3,
        "transposed": lambda i, j: j >= i and j < 3,
        "one too many": lambda i, j: j <= i + 1 and j < 3,
        "one too few": lambda i, j: j < i and j < 3,
        "no padding mask": lambda i, j: True,
        "padding as rows": lambda i, j: i < 3,
    }
    encoder = {"no padding mask", "padding as rows"}
    found = found_by_influence()
    assert list(found) == list(BUGS) == list(allowed)
    for name, may in allowed.items():
        for i in range(5):
            for j in range(5):
                wanted = j < 3 and (j <= i or name in encoder)
                sign = {(1, 0): "×", (0, 1): "○", (1, 1): "•", (0, 0): ""}
                key = int(may(i, j)), int(wanted)
                assert found[name][i][j] == sign[key], (name, i, j)


def test_each_bug_is_shown_and_only_its_own_name_is_right(page, go):
    assert sorted(NAMES) == sorted(BUGS)
    for number, right in enumerate(NAMES, 1):
        cells = go(number)
        assert cells == [s for row in found_by_influence()[right] for s in row]
        crosses, rings = cells.count("×"), cells.count("○")
        assert said(page) == (
            f"Bug {number}: {crosses} × and {rings} ○. Which mask is it?"
        )
        for name, bug in BUGS.items():
            page.get_by_role("radio", name=name).check()
            if name == right:
                assert said(page).startswith(f"Yes, “{name}”: {bug.sign}")
                assert said(page).endswith(bug.code)
            else:
                assert f"No. “{name}” would look different: {bug.sign}." in said(page)


def test_the_next_bug_starts_without_a_verdict(page, go):
    go(1)
    page.get_by_role("radio", name="transposed").press("Space")
    page.get_by_label("Bug: on").click()
    assert page.locator("input[type=radio]:checked").count() == 0
    assert said(page).startswith("Bug 2:")
    assert page.locator("output").inner_text() == "2 of 6"


def test_on_paper_and_without_scripts_all_six_stand_there(page):
    elements = Elements(HTML).found
    (image,) = [a for tag, a in elements if tag == "img"]
    assert all(name in image["alt"].lower() for name in BUGS)
    hidden = {a["class"] for _, a in elements if a.get("hidden") == "hidden"}
    assert hidden == {"book-controls", "book-live"}
    still, live = page.locator("img"), page.locator(".book-live")
    assert not still.is_visible()
    assert live.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert still.is_visible()
    assert not live.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert live.is_visible()


def test_it_fits_a_phone_and_is_accessible(page, go):
    go(5)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator("input, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24
    assert check_sliders(page) == []
    assert [*check_accessible(page, "light"), *check_accessible(page, "dark")] == []
    check_self_contained(HTML, controls=9)
