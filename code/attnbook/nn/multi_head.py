"""Multi-head attention: Vaswani et al. 2017, section 3.2.2."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_dropout, check_sizes
from attnbook.nn.attention_checks import (
    check_axes,
    check_groups,
    check_heads,
    check_multi_head,
)
from attnbook.nn.masks import causal_mask
from attnbook.nn.norms import RMSNorm
from attnbook.nn.scaled_dot_product import attention


class KeysValues(NamedTuple):
    """A cache: each group's keys and values, so that they need not be made again."""

    k: Tensor  # (B, G, S, d_k)
    v: Tensor  # (B, G, S, d_k)

    def extend(self, new: KeysValues) -> KeysValues:
        """Append those of further positions; this one stays as it is."""
        return KeysValues(torch.cat([self.k, new.k], 2), torch.cat([self.v, new.v], 2))


def make_projections(d_model: int, d_kv: int, bias: bool = True) -> list[nn.Linear]:
    """Make W^Q, W^K, W^V and W^O: from D to D, d_kv, d_kv and D features."""
    linears = [nn.Linear(d_model, d, bias) for d in (d_model, d_kv, d_kv, d_model)]
    # Entries of variance 1/D: inputs of variance 1 give queries and keys of variance 1,
    # which is what the scale 1/√d_k assumes. For square matrices this is Xavier's.
    bound = math.sqrt(3 / d_model)
    for linear in linears:
        nn.init.uniform_(linear.weight, -bound, bound)
        if bias:
            nn.init.zeros_(linear.bias)
    return linears


class MultiHeadAttention(nn.Module):
    r"""Several attentions side by side, each with projections of its own.

    Vaswani et al. 2017, section 3.2.2: :math:`\mathrm{Concat}(head_1, …, head_H) W^O`,
    :math:`head_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V).` The matrices of all
    heads lie side by side in one, so that one product makes all queries.

    With fewer groups than heads it is grouped-query attention (Ainslie et al. 2023):
    the heads of a group share keys and values, so that a cache of them is smaller. With
    one group it is multi-query attention (Shazeer 2019).

    Args:
        d_model: Width D of what comes in and goes out.
        n_heads: Number H of heads, each d_k = D/H wide.
        n_groups: Number G of groups; heads 1 to H/G are the first of them. None: each
            head is a group.
        qk_norm: Whether to normalise each head's queries and keys, by an RMSNorm for
            each (Henry et al. 2020).
        turn: Changes queries, (B, H, T, d_k), and keys, (B, G, S, d_k), by their
            positions before they meet, such as :class:`~attnbook.nn.rotary.Rotary`.
        bias: Whether the four projections add a vector, as in PyTorch's class.
        dropout: Share of the attention weights set to 0 in training. Section 5.4 of
            the paper leaves it out, section 6.3 (arXiv) names it.

    Raises:
        ValueError: If D cannot be divided by H, or H by G, or a size is not positive.

    Examples:
        >>> from attnbook.nn import MultiHeadAttention
        >>> mha = MultiHeadAttention(d_model=8, n_heads=2)
        >>> x, memory = torch.randn(1, 3, 8), torch.randn(1, 5, 8)
        >>> output, weights = mha(x, memory, memory, need_weights=True)
        >>> output.shape, weights.shape  # (B, T, D), and (B, H, T, S)
        (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 5]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_groups: int | None = None,
        qk_norm: bool = False,
        turn: nn.Module | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        n_groups = n_heads if n_groups is None else n_groups
        check_sizes(d_model=d_model, n_heads=n_heads, n_groups=n_groups)
        check_dropout(dropout)
        check_heads(d_model, n_heads)
        check_groups(n_heads, n_groups)
        self.d_model, self.n_heads, self.n_groups = d_model, n_heads, n_groups
        self.dropout = dropout
        self.scale: float | None = None  # of the scores; None: 1/√d_k
        d_k = d_model // n_heads
        projections = make_projections(d_model, n_groups * d_k, bias)
        self.W_Q, self.W_K, self.W_V, self.W_O = projections
        self.for_queries = RMSNorm(d_k) if qk_norm else nn.Identity()
        self.for_keys = RMSNorm(d_k) if qk_norm else nn.Identity()
        self.turn = turn

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        cache: KeysValues | None = None,
        score_bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from T positions to S: three times the same tensor is self-attention.

        Args:
            query: (B, T, D).
            key: (B, S, D).
            value: (B, S, D).
            mask: bool, True where a query may attend; (T, S), or four axes that
                broadcast to (B, H, T, S). For padding take
                :func:`~attnbook.nn.masks.key_mask`.
            cache: What :meth:`keys_values` has made before, instead of key and value.
            score_bias: Finite numbers to add to the scaled scores, shaped as the mask.
            need_weights: Whether to return the weights too.

        Returns:
            (B, T, D); with ``need_weights`` also the weights of each head before
            dropout, (B, H, T, S).

        Raises:
            ValueError: If a shape or a type does not fit.
        """
        check_multi_head(self.d_model, query, key, value, cache)
        check_axes(mask=mask, score_bias=score_bias)
        q = self.for_queries(split_heads(self.W_Q(query), self.n_heads))
        k, v = cache or self.keys_values(key, value)  # (B, G, S, d_k), twice
        if self.turn is not None:
            q, k = self.turn(q, k)
        k, v = (share_groups(x, self.n_heads) for x in (k, v))  # (B, H, S, d_k)
        out = self.attend(
            *(q, k, v, mask), score_bias=score_bias, need_weights=need_weights
        )
        heads, weights = out if need_weights else (out, None)  # (B, H, T, d_k or S)
        x = self.W_O(merge_heads(heads))  # (B, T, D)
        return (x, weights) if need_weights else x

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **how
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let each head attend; what changes the scores overrides this step alone.

        Args:
            q: (B, H, T, d_k); if T < S, of the last positions in self-attention.
            k: (B, H, S, d_k), some of them perhaps cached in earlier calls.
            v: (B, H, S, d_k).
            mask: As in ``forward``.
            how: ``score_bias`` and ``need_weights``, as in ``forward``.

        Returns:
            As :func:`~attnbook.nn.scaled_dot_product.attention`.
        """
        dropout = self.dropout if self.training else 0.0
        return attention(q, k, v, mask, scale=self.scale, dropout=dropout, **how)

    def keys_values(self, key: Tensor, value: Tensor) -> KeysValues:
        """Make each group's keys and values: twice (B, S, D) → (B, G, S, d_k).

        Keys are not turned yet. ``forward`` turns all of them, each by its place among
        the keys that it is given, which takes little time.
        """
        return KeysValues(
            self.for_keys(split_heads(self.W_K(key), self.n_groups)),
            split_heads(self.W_V(value), self.n_groups),
        )

    def start(self, x: Tensor) -> KeysValues:
        """Make an empty cache for B sequences; of ``x``, (B, …, D), only B counts."""
        nothing = x.new_zeros(len(x), 0, self.d_model)  # (B, 0, D)
        return self.keys_values(nothing, nothing)

    def step(self, x: Tensor, cache: KeysValues) -> tuple[Tensor, KeysValues]:
        """Let T more positions attend to themselves and to all before: causally.

        Args:
            x: (B, T, D).
            cache: Of the positions before them; it is not changed.

        Returns:
            (B, T, D), and the cache with these positions.
        """
        check_multi_head(self.d_model, x, x, x)
        cache = cache.extend(self.keys_values(x, x))
        t, s = x.shape[1], cache.k.shape[2]
        mask = None if t == 1 else causal_mask(t, s, s - t, x.device)  # (T, S)
        return self(x, cache=cache, mask=mask), cache


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the D features of each position into H parts: (B, T, D) → (B, H, T, d_k).

    ``view`` cuts the last axis alone; ``transpose`` then brings the heads to the front.
    A ``view`` straight to (B, H, T, d_k) would deal out positions, not features.

    Examples:
        >>> split_heads(torch.zeros(2, 5, 8), 4).shape  # B, T, D to B, H, T, d_k
        torch.Size([2, 4, 5, 2])
    """
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)  # (B, H, T, d_k)


def merge_heads(heads: Tensor) -> Tensor:
    """Lay the heads' parts side by side again: (B, H, T, d_k) → (B, T, D).

    Examples:
        >>> x = torch.randn(2, 5, 8)
        >>> torch.equal(merge_heads(split_heads(x, 4)), x)
        True
    """
    return heads.transpose(1, 2).flatten(2)  # (B, T, H, d_k) → (B, T, D)


def share_groups(x: Tensor, n_heads: int) -> Tensor:
    """Give each head the keys or values of its group: (B, G, S, d_k) → (B, H, S, d_k).

    ``repeat_interleave`` keeps the heads of a group together; ``repeat`` would deal the
    groups out in turn.
    """
    size = n_heads // x.shape[1]  # heads of a group
    return x if size == 1 else x.repeat_interleave(size, dim=1)
