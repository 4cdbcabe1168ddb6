import math

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_hex

from attnbook.course.kit.colours import INK, TEXT_COLOURS, WEIGHTS
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


def test_cells_are_as_dark_as_their_weights_the_first_row_on_top(ax):
    heat_map(ax, CELLS)
    ax.figure.draw_without_rendering()
    faces = ax.collections[0].get_facecolors()
    wanted = [to_hex(WEIGHTS(w)) for w in (0.0, 0.5, 1.0, 0.2)]
    assert [to_hex(face) for face in faces[:4]] == wanted
    assert faces[4][3] == 0  # not a number: the ground is to be seen
    assert ax.get_ylim() == (2, 0)


def test_names_stand_at_rows_and_columns_in_the_colours_of_their_roles(ax):
    names = {"rows": ("a", "b"), "columns": ("x", "y", "z")}
    heat_map(ax, CELLS, **names, roles=("query", "key"))
    for labels, given, role in (
        (ax.get_yticklabels(), names["rows"], "query"),
        (ax.get_xticklabels(), names["columns"], "key"),
    ):
        assert tuple(label.get_text() for label in labels) == given
        assert {to_hex(label.get_color()).upper() for label in labels} == {
            TEXT_COLOURS[role]
        }


def test_titles_stand_at_the_axes_in_the_colours_of_their_roles(ax):
    heat_map(ax, CELLS, roles=("target", None), titles=("row", "column"))
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("row", "column")
    assert ax.yaxis.label.get_color() == TEXT_COLOURS["target"]
    assert ax.xaxis.label.get_color() == INK


def test_a_map_without_titles_has_none(ax):
    heat_map(ax, CELLS, roles=("target", "source"))
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("", "")


def test_the_colour_bar_has_the_scale_of_the_maps_and_says_what_it_is(ax):
    heat_map(ax, 100 * CELLS.nan_to_num(), vmax=100)
    colour_bar(ax, "weight, %")
    _, bar = ax.figure.axes
    assert bar.get_xlim() == (0, 100)
    assert bar.get_xlabel() == "weight, %"


def test_one_colour_bar_serves_several_maps():
    fig, axes = plt.subplots(2)
    for ax in axes:
        heat_map(ax, CELLS)
    colour_bar(axes, "weight")
    assert len(fig.axes) == 3
    plt.close(fig)


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
