"""RMSNorm: equal to its formula and to PyTorch's, values and gradients."""

import torch
from compare import agree, close, numbers, stacked
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.nn.norms import RMSNorm, rms_norm

small = st.integers(1, 5)


def by_formula(x, gain, eps):
    """Zhang and Sennrich 2019, number by number: x is (T, D)."""
    rows = []
    for row in x:
        root = torch.sqrt(sum(number * number for number in row) / len(row) + eps)
        pairs = zip(row, gain, strict=True)
        rows.append([number / root * g for number, g in pairs])
    return stacked(rows)


@given(small, small, st.integers(0, 999))
@settings(max_examples=15)
def test_it_equals_the_formula_and_pytorchs(t, d, seed):
    x, gain = numbers(seed, (t, d), (d,))
    ours = rms_norm(x, gain, 1e-4)
    agree(ours, by_formula(x, gain, 1e-4), [x, gain])
    agree(ours, F.rms_norm(x, (d,), gain, 1e-4), [x, gain])


def test_the_module_starts_with_a_gain_of_one():
    x = numbers(0, (2, 3, 8))[0]
    norm = RMSNorm(8).double()
    close(norm(x), F.rms_norm(x, (8,), eps=1e-6))
    assert [name for name, _ in norm.named_parameters()] == ["gain"]
    with torch.no_grad():
        norm.gain.copy_(torch.arange(8))
    close(norm(x), F.rms_norm(x, (8,), torch.arange(8).double(), 1e-6))


def test_zeros_stay_zeros():
    x = torch.zeros(2, 4, requires_grad=True)
    rms_norm(x, torch.ones(4)).sum().backward()
    assert x.grad.isfinite().all()
