"""Global and local alignment: one place after the other, from the paper's equations."""

import math

import pytest
import torch
from compare import double, numbers, same, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.nn.local_attention import (
    ALIGNMENTS,
    MonotonicAlignment,
    PredictiveAlignment,
    make_alignment,
)

seeds = st.integers(0, 999)
sizes = st.lists(st.integers(1, 8), min_size=1, max_size=3)
H = 3


def real_places(lengths):
    """The mask of sentences padded on the right, (B, S)."""
    return torch.tensor([[s < n for s in range(max(lengths))] for n in lengths])


def drawn(seed, lengths, steps):
    """Scores, (B, T, S), and states, (B, T, H)."""
    rows = len(lengths)
    return numbers(seed, (rows, steps, max(lengths)), (rows, steps, H))


def local_p(half_width, sigma=None, seed=0):
    """Predictive alignment whose centres come to lie all over the sentence."""
    align = double(PredictiveAlignment, H, half_width, sigma, seed=seed)
    with torch.no_grad():
        for weight in align.parameters():
            weight *= 6
    return align


def alignment(name, half_width, sigma=None, seed=0):
    if name == "local-p":
        return local_p(half_width, sigma, seed)
    return make_alignment(name, H, None if name == "global" else half_width)


def predicted(h, align, length):
    """Equation 9 for one state, kept within the sentence."""
    w, v = align.W.weight, align.v.weight[0]
    hidden = [torch.tanh(sum(w[i, k] * h[k] for k in range(H))) for i in range(H)]
    share = 1 / (1 + torch.exp(-sum(v[i] * hidden[i] for i in range(H))))
    p = length * share
    return p if p < length - 1 else 0 * p + (length - 1)


def weights_by_loop(e, length, p=None, half_width=math.inf, sigma=math.inf):
    """Equations 7 and 10 for one row of scores; p is a number or a scalar tensor."""
    centre = 0.0 if p is None else p
    inside = [s for s in range(length) if abs(s - centre) <= half_width]
    total = sum(e[s].exp() for s in inside)
    row = [0 * e[0]] * len(e)
    for s in inside:
        factor = torch.exp(0 * e[s] - (s - centre) ** 2 / (2 * sigma**2))
        row[s] = e[s].exp() / total * factor
    return row


@pytest.mark.parametrize("name", ALIGNMENTS)
@pytest.mark.parametrize("sigma", [None, 0.7, math.inf])
@given(sizes, st.integers(1, 4), st.integers(0, 9), st.integers(0, 3), seeds)
@settings(max_examples=12)
def test_each_equals_the_loop(name, sigma, lengths, steps, first, half_width, seed):
    """A window may lie behind the sentence; the Gaussian comes after the softmax."""
    half_width += name == "local-p" and sigma is None
    align = alignment(name, half_width, sigma, seed)
    scores, h = drawn(seed, lengths, steps)

    def row(i, t):
        e, n = scores[i, t], lengths[i]
        if name == "global":
            return weights_by_loop(e, n)
        if name == "local-m":
            return weights_by_loop(e, n, first + t, half_width)
        p, spread = predicted(h[i, t], align, n), half_width / 2
        return weights_by_loop(e, n, p, half_width, spread if sigma is None else sigma)

    loop = [[row(i, t) for t in range(steps)] for i in range(len(lengths))]
    ours = align(scores, h, first, real_places(lengths))
    same(ours, stacked(loop), [scores, h, *align.parameters()])


def test_the_gaussian_alone_moves_the_centre():
    scores, h = drawn(0, [20], 1)
    for sigma, moves in ((None, True), (math.inf, False)):
        align = local_p(5, sigma)
        weights = align(scores, h, 0, real_places([20]))
        (gradient,) = torch.autograd.grad(weights.max(), align.v.weight)
        assert gradient.any() == moves


@pytest.mark.parametrize("first", [0, 3])
def test_an_empty_window_gives_zeros_and_finite_gradients(first):
    scores, h = numbers(0, (1, 4, 2), (1, 4, H))
    weights = MonotonicAlignment(1)(scores, h, first, real_places([2]))
    assert (weights[0] == 0).all(-1).tolist() == [first + t > 2 for t in range(4)]
    (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [0.0, 20.0, -20.0, 1e4, -1e4, 1e30, -1e30])
def test_the_centre_stays_in_the_sentence(dtype, size):
    """However large a state grows; a shorter sentence has its own end."""
    align = PredictiveAlignment(H, 1).to(dtype)
    with torch.no_grad():
        align.W.weight.copy_(torch.eye(H))
        align.v.weight.fill_(200.0)
    h = torch.full((3, 2, H), size, dtype=dtype)
    mask = real_places([7, 4, 1])
    p = align.centre(h, mask)
    assert p.dtype == torch.promote_types(dtype, torch.float32)
    assert (p >= 0).all()
    assert (p <= torch.tensor([[6], [3], [0]])).all()
    if size > 0:
        assert p.tolist() == [[6, 6], [3, 3], [0, 0]]
    weights = align(torch.zeros(3, 2, 7, dtype=dtype), h, 0, mask)
    assert (weights.sum(-1) > 0).all()  # there is always a word within D = 1
