"""Figures, drawings and exercises of chapter 6."""

import torch
from drawn import cells
from torch import nn

from attnbook.core import results
from attnbook.course.ch06 import drawings as ch06_drawings
from attnbook.course.ch06 import figures as ch06
from attnbook.course.kit.exercises.checking import find
from attnbook.data.batching import pad
from attnbook.models.from_torch import attention_from_torch
from attnbook.nn.masks import causal_mask, target_mask

TARGET = pad([[9] * 5, [9] * 3])


# The leak test


def test_detector_marks_leaks_and_losses(as_in_the_pages):
    wanted = causal_mask(3)
    moved = torch.tensor([[1, 0, 1], [1, 0, 0], [1, 1, 1]]) > 0
    panels = {"wrong": (moved, wanted), "right": (wanted, wanted)}
    figure = ch06.detector_figure(panels | {"again": (wanted, wanted)}, real=2)
    first, second, *_ = figure.axes
    assert torch.equal(cells(first) > 0, moved)
    marks = {text.get_position(): text.get_text() for text in first.texts}
    assert marks == {(2.5, 0.5): "×", (1.5, 1.5): "○"}  # at (key, query)
    assert not second.texts
    names = [label.get_text() for label in first.get_xticklabels()]
    assert names == ["1", "2", "–"]


def test_each_broken_mask_is_broken_in_its_own_way():
    masks = ch06.broken_masks(TARGET[1:])
    wrong = {name: (mask != right) for name, (mask, right) in masks.items()}
    assert all(cells.any() for cells in wrong.values())
    kinds = {tuple(mask.flatten().tolist()) for mask, _ in masks.values()}
    assert len(kinds) == len(masks) == 6
    cells = {name: mask.nonzero().tolist() for name, mask in wrong.items()}
    assert cells["one too many"] == [[0, 1], [1, 2]]
    assert cells["one too few"] == [[0, 0], [1, 1], [2, 2]]
    assert cells["no causal mask"] == [[0, 1], [0, 2], [1, 2]]


# The mask at inference


def test_the_table_holds_what_was_stored(monkeypatch):
    runs = [
        {"model": m, "causal": c, "loss": loss, "changed": 0.5 * (not c), **score}
        for m, c, loss, score in (
            ("toy", True, 0.01, {"exact": 0.98}),
            ("toy", False, 0.02, {"exact": 0.5}),
            ("captions", True, 1.5, {"bleu": 30.0}),
            ("captions", False, 1.75, {"bleu": 20.0}),
        )
    ]
    monkeypatch.setattr(results, "load", lambda name: {"runs": runs})
    toy, captions = ch06.at_inference_table().rows()
    assert toy[1:] == (98.0, 50.0, 0.01, 0.02, 50.0)
    assert captions[1:] == (30.0, 20.0, 1.5, 1.75, 50.0)


# Drawings


def test_shifted_words_never_attend_to_later_inputs():
    arrows = ch06_drawings.shifted_words()._arrows
    assert len(arrows) == 4 + 3 + 2 + 1
    assert all(start[0] <= end[0] for start, end in (a.points for a in arrows))


def test_only_without_a_mask_arrows_lead_to_earlier_positions():
    arrows = ch06_drawings.prefix_in_two_layers()._arrows
    back = [a for a in arrows if a.points[0][0] > a.points[1][0] + 20]
    assert len(back) == 3
    assert all(arrow.dashed for arrow in back)
    assert len(arrows) == (6 + 3) + (9 + 3)


# Exercises


def test_allowed_cells_are_those_of_the_target_mask():
    mask = target_mask(pad([[9] * 6, [9] * 2]))
    assert find("ex6_allowed").reference == tuple(mask.sum((1, 2, 3)).tolist())


def test_the_masks_for_pytorchs_layer_do_what_ours_does():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    ours = attention_from_torch(theirs)
    for (ids,) in find("ex6_torch_masks").inputs():
        x = torch.randn(*ids.shape, 8)
        padding, triangle = find("ex6_torch_masks").reference(ids)
        found, _ = theirs(x, x, x, key_padding_mask=padding, attn_mask=triangle)
        assert torch.allclose(found, ours(x, x, x, target_mask(ids)), atol=1e-5)


def test_the_window_is_the_solution_of_the_page():
    for t, w in find("ex6_window").inputs():
        back = torch.arange(t)[:, None] - torch.arange(t)
        expected = (back >= 0) & (back < w)
        assert torch.equal(find("ex6_window").reference(t, w), expected)
