"""Kinds of layer against masks and loops; their work by formula and counted."""

import pytest
import torch
from compare import double, numbers, same
from torch import nn
from torch.nn import functional as F

from attnbook.analysis.complexity import attention_work, count, longest_chain
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
    WindowedSelfAttention,
    block_window_mask,
)


@pytest.mark.parametrize(("n", "r"), [(1, 3), (3, 3), (12, 4), (13, 4), (5, 8), (6, 1)])
def test_restricted_is_full_attention_with_a_band(n, r):
    layer = double(WindowedSelfAttention, 8, 2, r)
    (x,) = numbers(0, (2, n, 8))
    back = torch.arange(n)[:, None] - torch.arange(n)
    band = (back >= 0) & (back < r)
    full = layer.attention(x, x, x, band)
    same(layer(x), full, [x, *layer.parameters()])


def test_a_window_holds_r_keys_but_for_the_first_positions():
    mask = block_window_mask(3, 4)
    assert mask.shape == (3, 4, 8)
    assert mask.sum(-1).tolist() == [[1, 2, 3, 4], [4] * 4, [4] * 4]


@pytest.mark.parametrize(("k", "dilation"), [(1, 1), (3, 1), (3, 4), (4, 2)])
def test_convolution_mixes_the_positions_before(k, dilation):
    layer = double(ConvolutionLayer, 4, k, dilation)
    (x,) = numbers(0, (2, 9, 4))
    rows = []
    for t in range(9):
        row = layer.conv.bias.expand(2, 4)
        for tap in range(k):
            s = t - (k - 1 - tap) * dilation
            if s >= 0:
                row = row + x[:, s] @ layer.conv.weight[:, :, tap].T
        rows.append(row)
    same(layer(x), torch.stack(rows, 1), [x, *layer.parameters()])


# Work


@pytest.mark.parametrize(("n", "d"), [(7, 8), (16, 12)])
def test_formulas_are_what_is_counted(n, d):
    x = torch.zeros(1, n, d)
    for layer, work in (
        (SelfAttentionLayer(d, 2), attention_work(n, d)),
        (RecurrentLayer(d, nn.RNN), 2 * n * d * d),
        (RecurrentLayer(d), 3 * 2 * n * d * d),
        (ConvolutionLayer(d, 3), 3 * n * d * d),
    ):
        assert count(lambda layer=layer: layer(x)) == work
    scores = attention_work(n, d, projections=False)
    q = torch.zeros(1, 2, n, d // 2)
    assert count(lambda: F.scaled_dot_product_attention(q, q, q)) == scores


def test_blocks_cost_twice_their_window():
    layer, x = WindowedSelfAttention(8, 2, 4), torch.zeros(1, 16, 8)
    projections, window = 4 * 16 * 8 * 8, 2 * 4 * 16 * 8
    assert count(lambda: layer(x)) == projections + 2 * window


def test_an_lstm_is_counted_as_nothing():
    """What the page warns of; if PyTorch learns it, the page must say so."""
    layer, x = RecurrentLayer(8, nn.LSTM), torch.zeros(1, 4, 8)
    assert count(lambda: layer(x)) == 0


def test_the_longest_chain_is_the_longest_and_not_the_sum():
    x = torch.ones(3, requires_grad=True)
    short, long = x * 2, ((x * 2) + 1).exp()
    assert longest_chain(x * 2) == 2  # the product, and x itself
    assert longest_chain(short + long) == 5


def test_chains_grow_with_the_length_in_recurrent_layers_alone():
    for layer, grows in (
        (RecurrentLayer(8), True),
        (RecurrentLayer(8, nn.RNN), True),
        (SelfAttentionLayer(8, 2), False),
        (ConvolutionLayer(8, 3), False),
        (WindowedSelfAttention(8, 2, 4), False),
    ):
        one, two = (longest_chain(layer(torch.zeros(1, n, 8))) for n in (8, 16))
        assert (two > 1.5 * one) == grows
        assert grows or one == two


def test_deep_graphs_need_no_recursion():
    x = torch.ones(1, requires_grad=True)
    for _ in range(5000):
        x = x + 1
    assert longest_chain(x) == 5001
