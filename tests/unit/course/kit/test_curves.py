from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.course import begin
from attnbook.course.kit.curves import label_lines, spread


@pytest.fixture(autouse=True)
def _closed_afterwards():
    yield
    plt.close("all")


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


heights = st.lists(st.floats(-100, 100), min_size=1, max_size=8)


@given(heights)
def test_spread_keeps_the_distance_the_order_and_the_floor(wished):
    new = spread(wished, 5, floor=-50)
    ranks = sorted(range(len(wished)), key=lambda i: wished[i])
    assert all(new[j] - new[i] > 5 - 1e-9 for i, j in pairwise(ranks))
    assert min(new) >= -50


def test_spread_moves_as_little_as_possible():
    assert spread([0, 1], 3, floor=-50) == [-1, 2]
    assert spread([1, 0, 20], 3, floor=-50) == [2, -1, 20]
    assert spread([0, 3, 3], 3, floor=-50) == [-1, 2, 5]
    assert spread([0, 1], 3, floor=0) == [0, 3]
