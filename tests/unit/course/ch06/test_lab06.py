"""Tables and figures of laboratory page 6 and of the mask card."""

import math

import pytest
import torch
from drawn import cells

from attnbook.course.ch06 import lab as lab06
from attnbook.data.batching import pad
from attnbook.nn.masks import causal_mask, key_mask, target_mask

SRC = pad([[5] * 6, [5] * 4])
TGT = pad([[9] * 5, [9] * 3])


def test_a_masked_row_in_float64_by_the_formula():
    hidden = torch.tensor([False, True, False])
    for add in (False, True):
        for value in (-1e9, -math.inf, None):
            row = lab06.masked_row(hidden, value, torch.float64, add)
            first = math.exp(1.0) / (math.exp(1.0) + math.exp(0.5))
            assert row.tolist() == pytest.approx([first, 0, 1 - first])


def test_the_four_outcomes_of_a_fully_masked_row():
    outcome = lab06.fully_masked_outcome
    assert outcome(-math.inf, torch.float32, add=False) == "NaN"
    assert outcome(-1e9, torch.float32, add=False) == "equal"
    assert outcome(-1e9, torch.float32, add=True) == "equal"  # rounds scores away
    assert outcome(-1e4, torch.float32, add=True) == "unmasked"
    assert outcome(-1e9, torch.float16, add=False) == "error"


def test_a_number_that_hides_nothing_is_refused():
    with pytest.raises(AssertionError):
        lab06.fully_masked_outcome(-1.0, torch.float32, add=True)


def test_the_table_has_a_row_for_each_number_and_two_columns_for_each_type():
    rows = lab06.lowest_table().rows()
    assert [row[0] for row in rows] == [*lab06.VALUES]
    assert all(len(row) == 1 + 2 * len(lab06.TYPES) for row in rows)
    assert set(rows[-1][1:]) == {"NaN"}


def test_fully_masked_rows_by_counting():
    for real, *counts in lab06.fully_masked_table().rows():
        for window, count in enumerate(counts, 1):
            # Query i is left without a key if i - w + 1 … i are all padding.
            assert count == sum(i - window + 1 >= int(real) for i in range(6))


def test_maps_are_the_masks(as_in_the_pages):
    axes = lab06.masks_figure(SRC, TGT).axes
    titles = [ax.get_title("left") for ax in axes[:4]]
    assert titles == ["padding", "causal", "both", "cross"]
    for b in range(2):
        maps = (cells(ax) > 0 for ax in axes[4 * b : 4 * b + 4])
        keys, causal, both, cross = maps
        assert torch.equal(keys, key_mask(SRC)[b, 0].expand(6, 6))
        assert torch.equal(causal, causal_mask(5))
        assert torch.equal(both, target_mask(TGT)[b, 0])
        assert torch.equal(cross, key_mask(SRC)[b, 0].expand(5, 6))
    padded = [label.get_text() for label in axes[7].get_xticklabels()]
    assert padded == ["1", "2", "3", "4", "–", "–"]
