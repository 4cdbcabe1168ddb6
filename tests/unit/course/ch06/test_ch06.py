"""Chapter 6's exercises and the page's own masks. What it shows nbval compares."""

import torch
from notebook_cells import printed

from attnbook.course.kit.exercises.short_exercises import find
from attnbook.data.batching import pad
from attnbook.nn.masks import target_mask

TARGET = pad([[9] * 5, [9] * 3])


# Exercises


def test_allowed_cells_are_those_of_the_target_mask():
    mask = target_mask(pad([[9] * 6, [9] * 2]))
    assert find("ex6_allowed").reference == tuple(mask.sum((1, 2, 3)).tolist())


def test_the_window_is_the_solution_of_the_page():
    for t, w in find("ex6_window").inputs():
        back = torch.arange(t)[:, None] - torch.arange(t)
        expected = (back >= 0) & (back < w)
        assert torch.equal(find("ex6_window").reference(t, w), expected)


# The page's own code, at its edges


def test_the_pages_masks_lie_where_the_ids_lie():
    mask_of = printed("ch06", "target_mask", solution=True)
    assert torch.equal(mask_of(TARGET), target_mask(TARGET))
    elsewhere = TARGET.to("meta")
    assert mask_of(elsewhere).device == elsewhere.device
