"""Removing heads."""

import pytest
import torch

from attnbook.analysis.head_ablation import without_heads
from attnbook.nn.multi_head import MultiHeadAttention, split_heads
from attnbook.nn.scaled_dot_product import attention


@pytest.fixture(params=[3, 1], ids=["heads", "one group"])
def layer(request):
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 3, n_groups=request.param).double()
    torch.nn.init.normal_(layer.W_O.bias)
    return layer


def contributions(layer, x):
    """What each head adds to the output, by the formula: H of (B, T, D)."""
    q = split_heads(layer.W_Q(x), 3)
    k, v = (y.expand(-1, 3, -1, -1) for y in layer.keys_values(x, x))
    rows = layer.W_O.weight.T.chunk(3)  # W^O, (D, D), head by head
    return [attention(q[:, h], k[:, h], v[:, h]) @ rows[h] for h in range(3)]


@pytest.mark.parametrize("heads", [(), (0,), (2,), (0, 2), (1, 1), (0, 1, 2)])
def test_the_output_is_the_sum_of_the_other_heads(layer, heads):
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    kept = [part for h, part in enumerate(contributions(layer, x)) if h not in heads]
    wanted = sum(kept, layer.W_O.bias)
    with without_heads(layer, heads):
        torch.testing.assert_close(layer(x, x, x), wanted.expand(2, 5, 12))


def test_the_layer_comes_back_even_after_an_error(layer):
    before = layer.W_O.weight.detach().clone()

    def stop():
        assert not torch.equal(layer.W_O.weight, before)
        raise KeyError

    with pytest.raises(KeyError), without_heads(layer, [1]):
        stop()
    assert torch.equal(layer.W_O.weight, before)
    assert layer.W_O.weight.requires_grad
