"""What chapter 4 and its laboratory measure. What they show nbval compares."""

import pytest
import torch
from notebook_cells import printed


@pytest.mark.parametrize("solution", [False, True])
def test_the_attention_of_the_page_in_half_precision(solution):
    """A score of 12,800 fits into 16 bits, the sum of products 102,400 doesn't."""
    q = torch.full((1, 64), 40.0).half()
    v = torch.tensor([[3.0]]).half()
    assert printed("ch04", "attention", solution)(q, q, v).item() == 3


def test_the_output_without_keys_is_zero():
    q, k, v = torch.ones(2, 4), torch.ones(0, 4), torch.ones(0, 3)
    assert not printed("ch04", "attention")(q, k, v).any()
