"""The block with given parts: equal to the 2017 layer, and to its two lines."""

import pytest
import torch
from compare import agree, double, make_layer, numbers, randomise
from torch import nn

from attnbook.nn.block import Block
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.grouped_query import GroupedQueryAttention
from attnbook.nn.layers import EncoderLayer
from attnbook.nn.masks import causal_mask
from attnbook.nn.norms import RMSNorm


def today():
    torch.manual_seed(0)
    attention = GroupedQueryAttention(8, 4, 2)
    return randomise(Block(RMSNorm(8), attention, RMSNorm(8), SwiGLU(8, 6))).double()


def test_with_the_parts_of_2017_it_is_the_pre_norm_encoder_layer():
    layer = randomise(double(make_layer, EncoderLayer, 8, 2, 12, norm_first=True))
    block = Block(layer.norm_1, layer.attention, layer.norm_2, layer.feed_forward)
    x = numbers(0, (2, 5, 8))[0]
    leaves = [x, *layer.parameters()]
    agree(block(x, causal_mask(5)), layer(x, causal_mask(5)), leaves)


def test_it_is_its_two_lines():
    block, x = today(), numbers(1, (2, 5, 8))[0]
    y = block.norm_1(x)
    h = x + block.attention(y, y, y)
    h = h + block.feed_forward(block.norm_2(h))
    agree(block(x), h, [x, *block.parameters()])


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_of_what_is_added(training):
    same = nn.Identity()
    block = Block(same, ReturnQuery(), same, same, dropout=0.5).train(training)
    torch.manual_seed(0)
    out = block(torch.ones(1, 50, 8))
    found = {round(x, 3) for x in out.unique().tolist()}
    # Each sum adds nothing or twice its input; without dropout its input.
    assert found == ({1.0, 3.0, 9.0} if training else {4.0})


class ReturnQuery(nn.Module):
    """An attention that mixes nothing."""

    def forward(self, query, key, value, mask):
        return query
