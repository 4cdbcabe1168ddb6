"""A mixture of experts: equal to a loop over positions, and what its router does."""

import torch
from compare import agree, double, numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.mixture_of_experts import MixtureOfExperts


def mixture(n_experts=4, top_k=2, d=6, seed=0):
    def make():
        experts = [SwiGLU(d, 5) for _ in range(n_experts)]
        return MixtureOfExperts(d, experts, top_k)

    return double(make, seed=seed)


def by_formula(x, layer):
    """Position after position: x is (T, D)."""
    rows = []
    for row in x:
        logits = layer.router.weight @ row
        best = sorted(range(len(logits)), key=lambda e: -logits[e].item())
        best = best[: layer.top_k]
        exps = [torch.exp(logits[e]) for e in best]
        found = zip(exps, best, strict=True)
        rows.append(sum(s / sum(exps) * layer.experts[e](row) for s, e in found))
    return torch.stack(rows)


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=20)
def test_it_equals_a_loop_over_positions(t, n_experts, top_k, seed):
    layer = mixture(n_experts, min(top_k, n_experts), seed=seed)
    x = numbers(seed, (t, 6))[0]
    agree(layer(x), by_formula(x, layer), [x, *layer.parameters()])


def test_an_unused_expert_gets_no_gradient():
    layer = mixture()
    x = numbers(2, (3, 6))[0].detach().abs()
    with torch.no_grad():
        layer.router.weight[:] = torch.tensor([4.0, 3.0, 2.0, 1.0])[:, None]
    layer(x).sum().backward()
    used = [expert.W_up.weight.grad.abs().sum() > 0 for expert in layer.experts[:2]]
    assert all(used)
    for expert in layer.experts[2:]:
        assert expert.W_up.weight.grad is None or not expert.W_up.weight.grad.any()
