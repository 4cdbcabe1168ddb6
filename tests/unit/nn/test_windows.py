"""Windows with sinks: cell by cell, and in PyTorch's attention."""

import pytest
import torch
from compare import numbers, same

from attnbook.nn.sequence_layers import WindowedSelfAttention
from attnbook.nn.windows import window_mask


@pytest.mark.parametrize("sinks", [0, 1, 3])
@pytest.mark.parametrize(("t", "window"), [(1, 1), (6, 2), (6, 9), (9, 4)])
def test_each_cell_is_near_or_a_sink_and_never_later(t, window, sinks):
    mask = window_mask(t, window, sinks)
    for i in range(t):
        for j in range(t):
            near = i - window < j <= i
            assert mask[i, j] == (near or (j < sinks and j <= i))


def test_without_sinks_it_is_the_window_of_chapter_11():
    torch.manual_seed(0)
    layer = WindowedSelfAttention(8, 2, 3).double()
    (x,) = numbers(0, (2, 10, 8))
    same(layer(x), layer.attention(x, x, x, window_mask(10, 3)), [x])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, 0), "window"),
        ((0, 2), "t is 0"),
        ((-1, 2), "t is -1"),
        ((5, 2, -1), "sinks"),
        ((5, 2, 0.5), "sin"),
    ],
)
def test_sizes_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        window_mask(*arguments)
