"""What chapter 4 and its laboratory measure. What they show nbval compares."""

import pytest
import torch
from notebook_cells import printed

from attnbook.course.ch04 import figures, lab
from attnbook.course.kit.colours import contrast
from attnbook.nn import MultiHeadAttention, attention, causal_mask
from experiments.ch04 import equal_weights


def test_a_cell_of_weight_is_darker_the_more_it_holds_and_stays_legible():
    grounds = []
    for weight in torch.linspace(0, 1, 21).tolist():
        ground, ink = figures._cell_colours(weight, "weights")
        ink_light, ground_light = (1.05 / contrast(c) for c in (ink, ground))
        low, high = sorted((ink_light, ground_light))
        assert high / low >= 4.5
        grounds.append(ground_light)
    assert grounds == sorted(grounds, reverse=True)


@pytest.mark.parametrize("d", [16, 64])
def test_a_position_prefers_itself_unless_it_has_two_matrices(d):
    """Why chapter 4 has a query and a key: one matrix for both isn't enough."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(1000, 6, d, generator=g)
    one, other = torch.randn(2, 1000, d, d, generator=g) / d**0.5
    for key, low, high in ((x @ one, 0.9, 1), (x @ other, 0.13, 0.2)):
        _, weights = attention(x @ one, key, x, need_weights=True)  # (1000, 6, 6)
        own = weights.argmax(-1) == torch.arange(6)
        assert low < own.float().mean() <= high


def test_the_additive_score_spreads_with_the_width_only_if_v_is_large():
    state = torch.get_rng_state()
    narrow, wide = (lab.additive_start(d, draws=3) for d in (4, 256))
    assert torch.equal(torch.get_rng_state(), state)
    assert narrow.shape == (150, 64)
    assert 0.2 < narrow.std() < 0.5
    assert 0.2 < wide.std() < 0.5
    narrow, wide = (lab.additive_start(d, v_std=1.0, draws=3) for d in (4, 256))
    assert 0.7 < narrow.std() < 1.6
    assert 6 < wide.std() < 12


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
