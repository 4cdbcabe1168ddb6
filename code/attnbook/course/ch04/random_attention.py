"""Attention between random queries and keys: what a scale does before training."""

import torch
from torch import Tensor


def random_pairs(d_k: int, n_keys: int = 32) -> tuple[Tensor, Tensor]:
    """Draw 500 random queries, each with keys of its own.

    All components are independent, with mean 0 and variance 1. They are the same in
    each call, and PyTorch's own generator isn't used.

    Returns:
        Queries, (500, 1, d_k), and keys, (500, n_keys, d_k).
    """
    g = torch.Generator().manual_seed(0)
    q = torch.randn(500, 1, d_k, generator=g)
    return q, torch.randn(500, n_keys, d_k, generator=g)


def random_scores(d_k: int, n_keys: int = 32) -> Tensor:
    """Dot products of these pairs, (500, n_keys), unscaled: their variance is d_k."""
    q, k = random_pairs(d_k, n_keys)
    return (q @ k.mT).squeeze(1)


def query_gradients(d_k: int, scale: float) -> Tensor:
    """How large the derivative of the attention weights by their query is, (500,).

    The derivative of weight i is c α_i Σ_j (δ_ij − α_j) k_j, with the scale c of the
    scores, such as 1/√d_k; its size is the root of the sum of all squared entries, over
    weights and components.
    """
    q, k = random_pairs(d_k)
    weights = (scale * q @ k.mT).softmax(-1)  # (500, 1, S)
    # Σ_j α_i (δ_ij - α_j) k_j is α_i times what k_i has more than the mean of the keys.
    jacobian = scale * weights.mT * (k - weights @ k)  # (500, S, d_k)
    return jacobian.square().sum((-2, -1)).sqrt()
