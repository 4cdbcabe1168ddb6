"""What chapter 4 and its laboratory measure. What they show nbval compares."""

import pytest
import torch
from notebook_cells import printed

from attnbook.nn import MultiHeadAttention, causal_mask
from experiments.ch04 import equal_weights


def test_equal_weights_are_equal_where_a_query_may_look_and_only_for_a_while():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(8, 2).eval(), torch.randn(1, 3, 8)
    mask = causal_mask(3)
    before = layer(x, x, x, mask, need_weights=True)[1]
    with equal_weights([layer]):
        weights = layer(x, x, x, mask, need_weights=True)[1]
    wanted = torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert torch.allclose(weights, wanted.expand(1, 2, 3, 3))
    assert torch.equal(layer(x, x, x, mask, need_weights=True)[1], before)


@pytest.mark.parametrize("solution", [False, True])
def test_the_attention_of_the_page_in_half_precision(solution):
    """A score of 12,800 fits into 16 bits, the sum of products 102,400 doesn't."""
    q = torch.full((1, 64), 40.0).half()
    v = torch.tensor([[3.0]]).half()
    assert printed("ch04", "attention", solution)(q, q, v).item() == 3


def test_the_output_without_keys_is_zero():
    q, k, v = torch.ones(2, 4), torch.ones(0, 4), torch.ones(0, 3)
    assert not printed("ch04", "attention")(q, k, v).any()
