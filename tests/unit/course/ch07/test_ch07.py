"""Chapter 7: what its pages count and claim. What they show nbval compares."""

import pytest
import torch
from notebook_cells import printed
from torch import nn

from attnbook.course.kit.exercises.short_exercises import find
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import sinusoids
from attnbook.nn.rotary import rotate

PAIRS = [0, 4, 1, 5, 2, 6, 3, 7]
"""Components of width 8 that are halves, in the order of interleaved pairs."""


# Exercises


def test_who_notices_is_what_comes_out():
    torch.manual_seed(0)
    order = torch.tensor([4, 2, 0, 1, 3])
    x = torch.randn(1, 5, 4)
    attend, linear = MultiHeadAttention(4, 2), nn.Linear(4, 4)
    gru = nn.GRU(4, 4, batch_first=True)
    narrow, wide = nn.Conv1d(4, 4, 1), nn.Conv1d(4, 4, 3, padding=1)
    layers = {
        "a": lambda x: x + x.mean(1, keepdim=True),
        "b": lambda x: gru(x)[0],
        "c": linear,
        "d": lambda x: attend(x, x, x, causal_mask(5)),
        "e": lambda x: narrow(x.mT).mT,
        "f": lambda x: wide(x.mT).mT,
    }
    noticed = [
        name
        for name, layer in layers.items()
        if not torch.allclose(layer(x[:, order]), layer(x)[:, order], atol=1e-5)
    ]
    assert "".join(noticed) == find("ex7_who_notices").reference


def test_half_split_rotates_pairs_of_halves():
    x = torch.randn(2, 6, 8, dtype=torch.float64)
    found = find("ex7_half_split").reference(x)
    torch.testing.assert_close(found[..., PAIRS], rotate(x[..., PAIRS]))


# The page's own code, at its edges


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_the_encodings_of_the_page_have_the_width_asked_for(d):
    found = printed("ch07", "sinusoids", solution=True)(7, d)
    assert torch.allclose(found, sinusoids(7, d), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_rotated_numbers_keep_their_type(dtype):
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0)).to(dtype)
    for name, order in (("rotate", range(8)), ("ex7_half_split", PAIRS)):
        found = printed("ch07", name, solution=name.startswith("ex"))(x)
        assert found.dtype == dtype
        inverse = sorted(range(8), key=[*order].__getitem__)
        wanted = rotate(x[..., [*order]].double())[..., inverse]
        assert torch.allclose(found.double(), wanted, atol=0.03)
