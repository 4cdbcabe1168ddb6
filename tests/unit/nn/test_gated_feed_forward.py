"""SwiGLU: equal to its formula, values and gradients."""

import torch
from compare import agree, double, numbers, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.layers import FeedForward

small = st.integers(1, 4)


def by_formula(x, network):
    """(SiLU(x W) ⊙ x V) W_2, number by number: x is (T, D)."""
    gate, up, down = (
        linear.weight for linear in (network.W_gate, network.W_up, network.W_down)
    )
    rows = []
    for row in x:
        hidden = []
        for w, v in zip(gate, up, strict=True):
            z = (w * row).sum()
            hidden.append(z / (1 + torch.exp(-z)) * (v * row).sum())
        rows.append([(w * torch.stack(hidden)).sum() for w in down])
    return stacked(rows)


@given(small, small, small, st.integers(0, 999))
@settings(max_examples=15)
def test_it_equals_the_formula(t, d, hidden, seed):
    network = double(SwiGLU, d, hidden, seed=seed)
    x = numbers(seed, (t, d))[0]
    agree(network(x), by_formula(x, network), [x, *network.parameters()])


def test_it_has_no_biases_and_as_many_parameters_as_without_gate():
    names = [name for name, _ in SwiGLU(6, 16).named_parameters()]
    assert names == ["W_gate.weight", "W_up.weight", "W_down.weight"]
    gated = sum(p.numel() for p in SwiGLU(6, 16).parameters())
    plain = sum(p.numel() for p in FeedForward(6, 24).parameters() if p.dim() == 2)
    assert gated == plain
