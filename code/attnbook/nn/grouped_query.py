"""Grouped-query attention: Ainslie et al. 2023."""

from __future__ import annotations

import math

from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.attention_checks import check_axes, check_heads, check_multi_head
from attnbook.nn.multi_head import merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention


class GroupedQueryAttention(nn.Module):
    """Multi-head attention in which a group of heads shares its keys and values.

    Ainslie et al. 2023. With as many groups as heads it is multi-head attention without
    biases, with one group multi-query attention (Shazeer 2019). What becomes of queries
    and keys before they meet is a module of its own: a rotation for RoPE, an RMSNorm
    for QK-norm, or both in this order: ``nn.Sequential(RMSNorm(d_k), Rotary())``.

    Args:
        d_model: Width D of what comes in and goes out.
        n_heads: Number H of heads, each d_k = D/H wide.
        n_groups: Number G of groups; heads 1 to H/G are the first of them.
        for_queries: Applied to the queries, (B, H, T, d_k); None leaves them.
        for_keys: Applied to the keys, (B, G, S, d_k); None leaves them.

    Raises:
        ValueError: If D cannot be divided by H, or H by G, or a size is not positive.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_groups: int,
        for_queries: nn.Module | None = None,
        for_keys: nn.Module | None = None,
    ):
        super().__init__()
        check_sizes(d_model=d_model, n_heads=n_heads, n_groups=n_groups)
        check_heads(d_model, n_heads)
        if n_heads % n_groups:
            raise ValueError(
                f"{n_heads} heads cannot be divided into {n_groups} groups; choose a "
                "number of groups that divides the number of heads"
            )
        self.d_model, self.n_heads, self.n_groups = d_model, n_heads, n_groups
        narrow = d_model // n_heads * n_groups  # G · d_k
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, narrow, bias=False)
        self.W_V = nn.Linear(d_model, narrow, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        for linear in (self.W_Q, self.W_K, self.W_V, self.W_O):
            # Variance 1/D whatever the width of the result, as in MultiHeadAttention.
            bound = math.sqrt(3 / d_model)
            nn.init.uniform_(linear.weight, -bound, bound)
        self.for_queries = nn.Identity() if for_queries is None else for_queries
        self.for_keys = nn.Identity() if for_keys is None else for_keys

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Attend from T positions to S, as ``MultiHeadAttention`` does.

        Args:
            query: (B, T, D).
            key: (B, S, D).
            value: (B, S, D).
            mask: bool, True where a query may attend; (T, S), or four axes that
                broadcast to (B, H, T, S).

        Returns:
            (B, T, D).

        Raises:
            ValueError: If a shape or a type does not fit.
        """
        check_multi_head(self.d_model, query, key, value)
        check_axes(mask=mask)
        q = self.for_queries(split_heads(self.W_Q(query), self.n_heads))
        k = self.for_keys(split_heads(self.W_K(key), self.n_groups))  # (B, G, S, d_k)
        v = split_heads(self.W_V(value), self.n_groups)  # (B, G, S, d_k)
        size = self.n_heads // self.n_groups  # heads of a group
        k, v = (x.repeat_interleave(size, dim=1) for x in (k, v))  # (B, H, S, d_k)
        return self.W_O(merge_heads(attention(q, k, v, mask)))  # (B, T, D)
