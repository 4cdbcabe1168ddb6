from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.course import begin
from attnbook.course.kit.curves import (
    averaged,
    band,
    label_lines,
    logarithmic_x,
    spread,
)


@pytest.fixture(autouse=True)
def _closed_afterwards():
    yield
    plt.close("all")


def test_a_band_is_the_mean_between_the_least_and_the_greatest():
    _, ax = plt.subplots()
    band(ax, (1, 2), [(0, 4), (3, 5), (9, 6)], color="#0072B2", label="seeds")
    (line,) = ax.get_lines()
    assert line.get_xydata().tolist() == [[1, 4], [2, 5]]
    assert line.get_label() == "seeds"
    (area,) = ax.collections
    corners = {tuple(corner) for corner in area.get_paths()[0].vertices.tolist()}
    assert corners == {(1, 0), (1, 9), (2, 4), (2, 6)}
    assert ax.get_legend() is None


def test_averages_stand_in_the_middle_of_their_steps():
    assert averaged([1, 3, 5, 7, 9], 2) == ([1, 3, 4.5], [2, 6, 9])


def test_a_logarithmic_axis_has_the_ticks_that_are_given():
    _, ax = plt.subplots()
    ax.plot([4, 8, 16], [1, 10, 100])
    logarithmic_x(ax, (4, 8, 16))
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["4", "8", "16"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")


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
