import matplotlib.pyplot as plt
import pytest
from widgets import alone_on_a_page, check_self_contained

from attnbook.course import stepper

CAPTIONS = ["first <b>", 'second "word"', "third"]


def draw(count=3, size=(2, 1)):
    figures = []
    for number in range(count):
        figure, ax = plt.subplots(figsize=size)
        ax.plot([0, number])
        figures.append(figure)
    return figures


def make(figures=None, **changes):
    given = {"captions": CAPTIONS, "label": "Step", "caption": "It grows."} | changes
    return stepper(draw() if figures is None else figures, alts=CAPTIONS, **given).data


@pytest.fixture(scope="module")
def html():
    return make()


def test_texts_are_escaped(html):
    """What else the first state is nbval compares, in chapter 7."""
    assert "first &lt;b&gt;" in html
    assert "second &quot;word&quot;" in html
    assert "<b>" not in html


def test_keys_and_buttons_move_it(html):
    with alone_on_a_page(html) as page:
        slider = page.get_by_role("slider")
        back, on = page.get_by_role("button").all()
        slider.press("ArrowRight")
        assert page.locator("p:visible").inner_text() == CAPTIONS[1]
        page.locator("img").first.dispatch_event("load")  # again: nothing is done twice
        on.click()
        assert page.locator("p:visible").inner_text() == CAPTIONS[2]
        assert page.locator("output").inner_text() == "3 of 3"
        assert slider.get_attribute("aria-valuetext") == "3 of 3"
        assert on.get_attribute("aria-disabled") == "true"
        back.click()
        assert page.locator("img:visible").get_attribute("alt") == CAPTIONS[1]
        assert on.get_attribute("aria-disabled") == "false"
        assert back.get_attribute("aria-disabled") == "false"


def test_it_waits_for_a_page_of_which_more_is_to_come(html):
    """An image can be there before what stands below it."""
    with alone_on_a_page(html) as page:
        page.evaluate(
            """async html => {
              Object.defineProperty(document, "readyState", { value: "loading" });
              document.querySelector("main").innerHTML = html;
              const pictures = [...document.querySelectorAll("img")];
              await Promise.all(pictures.map(picture => picture.decode()));
            }""",
            html,
        )
        assert not page.get_by_role("slider").is_visible()
        page.evaluate("document.dispatchEvent(new Event('DOMContentLoaded'))")
        assert page.get_by_role("slider").is_visible()


def test_it_asks_for_nothing_and_keeps_its_keys(html):
    check_self_contained(html, controls=3)
