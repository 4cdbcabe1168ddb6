import math

import matplotlib.pyplot as plt
import pytest
import torch

from attnbook.course.kit.heat_maps import (
    colour_bar,
    frame_cells,
    heat_map,
    numbers_from,
)


@pytest.fixture
def ax():
    fig, ax = plt.subplots()
    yield ax
    plt.close(fig)


CELLS = torch.tensor([[0.0, 0.5, 1.0], [0.2, math.nan, 0.04]])


def test_the_colour_bar_has_the_scale_of_the_maps_and_says_what_it_is(ax):
    heat_map(ax, 100 * CELLS.nan_to_num(), vmax=100)
    colour_bar(ax, "weight, %")
    _, bar = ax.figure.axes
    assert bar.get_xlim() == (0, 100)
    assert bar.get_xlabel() == "weight, %"


def test_numbers_are_written_from_a_least_one_on(ax):
    notes = numbers_from(CELLS, 0.1, ".1f")
    assert notes == [["", "0.5", "1.0"], ["0.2", "", ""]]
    heat_map(ax, CELLS.nan_to_num(), notes=notes)
    assert [text.get_text() for text in ax.texts] == [*notes[0], *notes[1]]


def test_frames_lie_round_their_cells(ax):
    heat_map(ax, CELLS)
    frame_cells(ax, [(0, 2), (1, None)], "black")
    (frame,) = ax.patches
    assert frame.get_bbox().extents.tolist() == [2, 0, 3, 1]
