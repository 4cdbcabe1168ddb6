import base64
import io
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import pytest
from PIL import Image
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
    return stepper(figures or draw(), **given).data


@pytest.fixture(scope="module")
def html():
    return make()


class Tree(HTMLParser):
    """Every element with its attributes; fails on a tag that does not match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


def test_the_same_figures_give_the_same_bytes(html):
    assert make() == html


def test_it_is_well_formed_and_texts_are_escaped(html):
    tree = Tree(html)
    assert {"It grows.", *CAPTIONS} <= set(tree.texts)
    assert not tree.all("b")
    assert not tree.all("script")


def test_all_but_the_first_picture_are_hidden_and_so_are_the_controls(html):
    frames = [a for a in Tree(html).all("div") if a.get("class") == "book-frame"]
    assert [a.get("hidden") for a in frames] == [None, "hidden", "hidden"]
    (controls,) = [
        a for a in Tree(html).all("div") if a.get("class") == "book-controls"
    ]
    assert controls["hidden"] == "hidden"  # the picture's onload shows them
    first, *others = Tree(html).all("img")
    assert "onload" in first
    assert not any("onload" in image for image in others)


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


def test_every_picture_has_its_text(html):
    assert [a["alt"] for a in Tree(html).all("img")] == CAPTIONS
    alts = ["a", "b", "c"]
    assert [a["alt"] for a in Tree(make(alts=alts)).all("img")] == alts


def test_every_control_has_a_name_and_keeps_its_keys_in_jupyterlab(html):
    tree = Tree(html)
    controls = tree.all("input") + tree.all("button")
    assert [a["aria-label"] for a in controls] == ["Step", "Step: back", "Step: on"]
    assert all(a["data-lm-suppress-shortcuts"] == "true" for a in controls)
    assert controls[0]["max"] == "2"


def test_pictures_are_sharp_with_a_white_ground(html):
    image = Tree(html).all("img")[0]
    assert image["width"] == "200"
    data = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
    picture = Image.open(io.BytesIO(data))
    assert picture.size == (400, 200)
    assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_the_claim_is_bold():
    tree = Tree(make(caption="**It grows & grows.** Less and less."))
    assert len(tree.all("strong")) == 1
    assert {"It grows & grows.", "Less and less."} <= set(tree.texts)


def test_figures_are_closed():
    before = plt.get_fignums()
    make()
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    ("figures", "changes", "words"),
    [
        ([], {}, "0 figures given"),
        (draw(1), {"captions": ["one"]}, "1 figures given"),
        (draw(3), {"captions": ["a", "b"]}, "3 figures, but 2 captions"),
        (draw(3), {"alts": ["a"]}, "3 figures, but 1 alts"),
        (draw(3), {"captions": ["a", "", "c"]}, "empty text in captions"),
        (draw(3), {"caption": ""}, "empty text in caption"),
        ([*draw(2), *draw(1, (3, 1))], {}, "different sizes"),
    ],
)
def test_what_cannot_be_stepped_through_is_an_error(figures, changes, words):
    given = {"captions": CAPTIONS, "label": "Step", "caption": "It grows."} | changes
    with pytest.raises(ValueError, match=words):
        stepper(figures, **given)
    plt.close("all")
