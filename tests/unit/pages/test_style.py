from base64 import b64decode
from io import BytesIO
from itertools import pairwise
from types import ModuleType

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from matplotlib_inline.backend_inline import configure_inline_support
from matplotlib_inline.config import InlineBackend
from PIL import Image
from traitlets.config import Config

from attnbook.pages import begin, style
from attnbook.pages.style import (
    COLOURS,
    TEXT_COLOURS,
    WEIGHTS,
    contrast,
    label_lines,
    spread,
    text_colour,
)


@pytest.fixture(autouse=True)
def _same_settings_afterwards():
    threads = torch.get_num_threads()
    with mpl.rc_context():
        yield
    plt.close("all")
    torch.set_num_threads(threads)


def test_begin_prints_nothing_and_sets_the_style(capsys):
    begin()
    assert capsys.readouterr() == ("", "")
    assert mpl.rcParams["font.sans-serif"] == ["DejaVu Sans"]
    assert not mpl.rcParams["axes.spines.top"]


@pytest.mark.filterwarnings("ignore:InlineBackend:DeprecationWarning")
def test_in_a_notebook_figures_are_sharp_and_as_wide_as_they_say(monkeypatch):
    shell = InteractiveShell(
        config=Config(HistoryManager={"enabled": False}),
        user_module=ModuleType("notebook"),
    )
    monkeypatch.setattr(style, "get_ipython", lambda: shell)
    begin()
    configure_inline_support(shell, "inline")  # as the first figure does in a notebook
    fig, _ = plt.subplots(figsize=(5.5, 2))
    data, metadata = shell.display_formatter.format(fig)
    InlineBackend.clear_instance()
    assert metadata["image/png"] == {"width": 550, "height": 200}
    assert Image.open(BytesIO(b64decode(data["image/png"]))).size == (1100, 400)


def test_text_can_be_read_on_white():
    assert COLOURS.keys() == TEXT_COLOURS.keys()
    for colour in TEXT_COLOURS.values():
        assert contrast(colour) >= 4.5
    assert contrast("#000000") == pytest.approx(21)


def test_the_documentation_names_the_colours_of_formulas():
    for colour in TEXT_COLOURS.values():
        assert rf"\textcolor{{{colour}}}" in style.__doc__


def test_text_takes_the_darker_shade():
    assert text_colour("#d55e00") == "#B84A00"
    assert text_colour("black") == "#000000"
    assert contrast(text_colour("#56B4E9")) >= 4.5


def test_more_weight_is_darker_from_white_on():
    assert WEIGHTS(0.0)[:3] == (1, 1, 1)
    shades = [contrast(WEIGHTS(i / 20)[:3]) for i in range(21)]
    assert all(pale < dark for pale, dark in pairwise(shades))


def test_labels_of_lines_that_end_together_do_not_overlap():
    begin()
    fig, ax = plt.subplots()
    for number, label in enumerate(["initial state", "static, last", "static, mean"]):
        ax.plot([1, 2, 3], [90, 20, number / 10], label=label)
    ax.plot([1, 3], [50, 50])  # without a label
    label_lines(ax)
    fig.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    names = [text.get_text() for text in ax.texts]
    assert names == ["initial state", "static, last", "static, mean"]
    for one in boxes:
        assert one.y0 > ax.bbox.y0 - 1
        assert not any(one.overlaps(other) for other in boxes if other is not one)


def test_lines_without_labels_are_an_error():
    _, ax = plt.subplots()
    ax.plot([1, 2])
    with pytest.raises(ValueError, match="no line has a label"):
        label_lines(ax)


heights = st.lists(st.floats(-100, 100), min_size=1, max_size=8)


@given(heights)
def test_spread_keeps_the_distance_the_order_and_the_floor(wished):
    new = spread(wished, 5, floor=-50)
    ranks = sorted(range(len(wished)), key=lambda i: wished[i])
    assert all(new[j] - new[i] > 5 - 1e-9 for i, j in pairwise(ranks))
    assert min(new) >= -50


@given(heights)
def test_spread_leaves_alone_what_is_far_apart(wished):
    apart = [10 * number + 1e-3 * height for number, height in enumerate(wished)]
    assert spread(apart, 5, floor=-50) == pytest.approx(apart)


def test_spread_moves_as_little_as_possible():
    assert spread([0, 1], 3, floor=-50) == [-1, 2]
    assert spread([1, 0, 20], 3, floor=-50) == [2, -1, 20]
    assert spread([0, 3, 3], 3, floor=-50) == [-1, 2, 5]
    assert spread([0, 1], 3, floor=0) == [0, 3]
