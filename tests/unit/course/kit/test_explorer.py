"""The mechanism of the explorers: live with a kernel, a still where it is stored."""

from types import SimpleNamespace

import ipywidgets
import matplotlib.pyplot as plt
import pytest
from IPython.display import HTML
from widgets import Elements

from attnbook.course.kit.explorers import with_kernel
from attnbook.course.kit.explorers.controls import Menu, Slider, Switch, TextBox
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import table

CONTROLS = {
    "n": Slider("numbers", 1, 5, 2),
    "x": Slider("factor", 0.5, 2, 1.0, step=0.5),
    "how": Menu("way", ("sum", "mean"), "sum"),
    "word": TextBox("word", "b & c"),
    "up": Switch("upper case", False),
}


def show(n, x, how, word, up):
    """As many bars as asked for; the word must not be empty, nor be "bug"."""
    if not word:
        raise ValueError("the word is empty; type <one>")
    if word == "bug":
        raise KeyError("a bug of ours")
    fig, ax = plt.subplots(figsize=(4, 2))
    ax.bar(range(n), [x] * n)
    said = f"{n} {x:g} {how} {word.upper() if up else word}"
    return View(said, fig, f"{n} bars <high>", table(["bar", "high"], [("a", "1")]))


def make(**changes):
    caption = "**It moves.** A & *b*."
    return Explorer(show, CONTROLS | changes, caption=caption)()


@pytest.fixture
def still(monkeypatch):
    monkeypatch.setenv("ATTNBOOK_STILL", "1")
    return make()


@pytest.fixture
def live(monkeypatch):
    """The controls by name, the result's sentence and picture, the caption."""
    monkeypatch.delenv("ATTNBOOK_STILL", raising=False)
    *controls, said, picture, caption = make().children
    return dict(zip(CONTROLS, controls, strict=True)), said, picture, caption


# The still


def test_the_still_is_html_with_text_and_caption(still):
    assert isinstance(still, HTML)
    elements = Elements(still.data)
    [image] = [a for tag, a in elements.found if tag == "img"]
    assert image["alt"] == "2 bars <high>"
    assert image["src"].startswith("data:image/png;base64,")
    assert "onload" not in image
    assert "<p>2 1 sum b &amp; c</p>" in still.data
    assert "<strong>It moves.</strong> A &amp; <em>b</em>." in still.data
    assert "max-width: 550px" in still.data
    assert ">1</td>" in still.data
    assert (
        "Settings: numbers: 2; factor: 1.0; way: sum; word: “b &amp; c”; "
        "upper case: no. To change them, run this cell."
    ) in still.data
    assert not [tag for tag, _ in elements.found if tag in ("script", "input", "link")]


# The live explorer


def test_a_control_that_moves_changes_the_result(live):
    controls, said, picture, _ = live
    before = plt.get_fignums()
    assert "<p>2 1 sum b &amp; c</p>" in said.value
    first = picture.value
    controls["n"].value = 4
    assert "<p>4 1 sum b &amp; c</p>" in said.value
    assert 'alt="4 bars &lt;high&gt;"' in picture.value
    assert picture.value != first
    controls["x"].value, controls["how"].value = 1.5, "mean"
    controls["word"].value, controls["up"].value = "d", True
    assert "<p>4 1.5 mean D</p>" in said.value
    assert plt.get_fignums() == before


def test_what_is_not_possible_is_told_a_bug_raised_and_no_old_result_is_left(live):
    controls, said, picture, _ = live
    controls["word"].value = ""
    told = "<strong>Not possible:</strong> the word is empty; type &lt;one&gt;"
    assert told in said.value
    assert picture.value == ""
    controls["word"].value = "d"
    assert "<p>2 1 sum d</p>" in said.value
    with pytest.raises(KeyError):
        controls["word"].value = "bug"
    assert "a bug of ours" in said.value
    assert picture.value == ""


def test_the_script_waits_for_all_controls_and_the_caption_stands_below(live):
    _, _, picture, caption = live
    assert "onload=" in picture.value
    assert "{&quot;controls&quot;: 5}" in picture.value
    assert "<strong>It moves.</strong> A &amp; <em>b</em>." in caption.value


# ipywidgets 7

TRAITS = {
    "IntSlider": "value min max step continuous_update readout_format",
    "FloatSlider": "value min max step continuous_update readout_format",
    "Dropdown": "value options",
    "Text": "value continuous_update placeholder",
    "Checkbox": "value indent",
    "HTML": "value placeholder",
    "VBox": "children box_style",
    "Play": "value min max step interval",
}
"""What the classes of ipywidgets 7.7 take; all of them the three below, too."""
COMMON = "description style layout"
LAYOUT = "width max_width min_width height margin padding display overflow"


def taking(name, traits):
    """A class of ipywidgets, which takes no other arguments than these."""

    def make(*args, **given):
        assert given.keys() <= {*traits.split()}, (name, given)
        return getattr(ipywidgets, name)(*args, **given)

    return make


def test_colab_s_ipywidgets_7_has_all_that_is_asked_for(monkeypatch):
    monkeypatch.delenv("ATTNBOOK_STILL", raising=False)
    made = {name: taking(name, f"{TRAITS[name]} {COMMON}") for name in TRAITS}
    made |= {"Layout": taking("Layout", LAYOUT), "jslink": ipywidgets.jslink}
    monkeypatch.setattr(with_kernel, "ipywidgets", SimpleNamespace(**made))
    box = make(n=Slider("numbers", 1, 5, 2, play=True))
    assert type(box.children[0].children[0]) is ipywidgets.Play
    assert "<p>2 1 sum b &amp; c</p>" in box.children[-3].value
