"""Linear attention: the formula, position by position, against all its forms."""

import pytest
import torch
from compare import close, double, numbers, randomise, same

from attnbook.nn.linear_attention import (
    LinearAttention,
    LinearState,
    causal_linear_attention,
    empty_state,
)
from attnbook.nn.multi_head import merge_heads, split_heads


def positive(x):
    """Equation 7, number by number."""
    return torch.where(x > 0, x + 1, x.exp())


def by_formula(q, k, v):
    """Equation 9, position by position: (..., n, d_k) and (..., n, d_v)."""
    if q.dim() > 2:
        return torch.stack([by_formula(*x) for x in zip(q, k, v, strict=True)])
    rows = []
    for i in range(len(q)):
        weights = [(positive(q[i]) * positive(k[j])).sum() for j in range(i + 1)]
        mixed = sum(w * v[j] for j, w in enumerate(weights))
        rows.append(mixed / sum(weights))
    return torch.stack(rows)


@pytest.mark.parametrize("block", [1, 3, 4, 8, 64])
@pytest.mark.parametrize("lead", [(), (2, 3)])
def test_all_blocks_follow_the_formula(block, lead):
    q, k, v = numbers(0, (*lead, 8, 3), (*lead, 8, 3), (*lead, 8, 5))
    same(causal_linear_attention(q, k, v, block)[0], by_formula(q, k, v), [q, k, v])


def test_a_text_can_be_cut_anywhere():
    q, k, v = numbers(0, (9, 3), (9, 3), (9, 4))
    whole, end = causal_linear_attention(q, k, v)
    first, state = causal_linear_attention(q[:4], k[:4], v[:4])
    rest, later = causal_linear_attention(q[4:], k[4:], v[4:], state=state)
    close(torch.cat([first, rest]), whole)
    close(later.s, end.s)
    close(later.z, end.z)
    old = LinearState(*(x.clone() for x in empty_state(k, v)))
    causal_linear_attention(q, k, v, state=old)
    assert not old.s.any()
    assert not old.z.any()


# The layer


def test_a_layer_projects_splits_and_merges():
    layer = randomise(double(LinearAttention, 8, 2))
    (x,) = numbers(0, (3, 6, 8))
    q, k, v = (split_heads(W(x), 2) for W in (layer.W_Q, layer.W_K, layer.W_V))
    wanted = layer.W_O(merge_heads(by_formula(q, k, v)))
    same(layer(x), wanted, [x, *layer.parameters()])


def test_one_by_one_it_gives_the_same():
    layer = randomise(double(LinearAttention, 8, 2))
    (x,) = numbers(0, (2, 7, 8))
    steps, state = [], None
    for position in x.split(1, dim=1):
        y, state = layer.step(position, state)
        steps.append(y)
    same(torch.cat(steps, 1), layer(x), [x, *layer.parameters()])
    assert state.s.shape == (2, 2, 4, 4)
    assert state.z.shape == (2, 2, 4)
