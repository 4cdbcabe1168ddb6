"""Attention between random queries and keys: what a scale does before training."""

from __future__ import annotations

import torch
from torch import Tensor


def random_pairs(
    d_k: int, n_keys: int, draws: int, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Draw random queries, each with keys of its own.

    All components are independent, with mean 0 and variance 1.

    Args:
        d_k: Width of queries and keys.
        n_keys: Number S of keys for each query.
        draws: Number of queries.
        seed: Of the random numbers; PyTorch's own generator isn't used.

    Returns:
        Queries, (draws, 1, d_k), and keys, (draws, S, d_k).
    """
    g = torch.Generator().manual_seed(seed)
    q = torch.randn(draws, 1, d_k, generator=g)
    return q, torch.randn(draws, n_keys, d_k, generator=g)


def random_scores(d_k: int, n_keys: int = 32, draws: int = 500) -> Tensor:
    """Dot products of random queries with their own keys: variance d_k.

    Args:
        d_k: Width of queries and keys.
        n_keys: Number S of keys for each query.
        draws: Number of queries.

    Returns:
        (draws, S), unscaled, for the pairs of :func:`random_pairs`.
    """
    q, k = random_pairs(d_k, n_keys, draws)
    return (q @ k.mT).squeeze(1)


def query_gradients(
    d_k: int, scale: float, n_keys: int = 32, draws: int = 500
) -> Tensor:
    """How large the derivative of the attention weights by their random query is.

    The derivative of weight i is c α_i Σ_j (δ_ij − α_j) k_j, with the scale c; its
    size is the root of the sum of all squared entries, over weights and components.

    Args:
        d_k: Width of queries and keys.
        scale: Factor c of the scores, such as 1/√d_k.
        n_keys: Number S of keys for each query.
        draws: Number of queries.

    Returns:
        One size for each query, (draws,), for the pairs of :func:`random_pairs`.
    """
    q, k = random_pairs(d_k, n_keys, draws)
    weights = (scale * q @ k.mT).softmax(-1)  # (draws, 1, S)
    # Σ_j α_i (δ_ij - α_j) k_j is α_i times what k_i has more than the mean of the keys.
    jacobian = scale * weights.mT * (k - weights @ k)  # (draws, S, d_k)
    return jacobian.square().sum((-2, -1)).sqrt()
