"""Multi-head attention: Vaswani et al. 2017, section 3.2.2."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_dropout, check_sizes
from attnbook.nn.attention_checks import check_axes, check_heads, check_multi_head
from attnbook.nn.scaled_dot_product import attention


class KeysValues(NamedTuple):
    """Each head's keys and values, kept so that they need not be made again."""

    k: Tensor  # (B, H, S, d_k)
    v: Tensor  # (B, H, S, d_k)

    def extend(self, new: KeysValues) -> KeysValues:
        """Append those of further positions; this one stays as it is."""
        return KeysValues(torch.cat([self.k, new.k], 2), torch.cat([self.v, new.v], 2))


class MultiHeadAttention(nn.Module):
    r"""Several attentions side by side, each with projections of its own.

    Vaswani et al. 2017, section 3.2.2: :math:`\mathrm{Concat}(head_1, …, head_H) W^O`,
    :math:`head_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V).` The matrices of all
    heads lie side by side in one, so that one product makes all queries.

    Args:
        d_model: Width D of what comes in and goes out.
        n_heads: Number H of heads, each D/H wide.
        bias: Whether the four projections add a vector, as in PyTorch's class.
        dropout: Share of the attention weights set to 0 in training. Section 5.4 of
            the paper leaves it out, section 6.3 (arXiv) names it.

    Raises:
        ValueError: If D cannot be divided by H, or a size is not positive.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, dropout: float = 0.0
    ):
        super().__init__()
        check_sizes(d_model=d_model, n_heads=n_heads)
        check_dropout(dropout)
        check_heads(d_model, n_heads)
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.scale: float | None = None  # of the scores; None: 1/√d_k
        self.W_Q = nn.Linear(d_model, d_model, bias)
        self.W_K = nn.Linear(d_model, d_model, bias)
        self.W_V = nn.Linear(d_model, d_model, bias)
        self.W_O = nn.Linear(d_model, d_model, bias)
        for linear in (self.W_Q, self.W_K, self.W_V, self.W_O):
            # Entries of variance 1/D: inputs of variance 1 give queries and keys of
            # variance 1, which is what the scale 1/√d_k assumes.
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        kept: KeysValues | None = None,
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
            kept: What :meth:`keys_values` has made before, instead of key and value.
            score_bias: Finite numbers to add to the scaled scores, shaped as the mask.
            need_weights: Whether to return the weights too.

        Returns:
            (B, T, D); with ``need_weights`` also the weights of each head before
            dropout, (B, H, T, S).

        Raises:
            ValueError: If a shape or a type does not fit.
        """
        check_multi_head(self.d_model, query, key, value, kept)
        check_axes(mask=mask, score_bias=score_bias)
        q = split_heads(self.W_Q(query), self.n_heads)  # (B, H, T, d_k)
        k, v = kept or self.keys_values(key, value)  # (B, H, S, d_k), twice
        out = self.attend(
            *(q, k, v, mask), score_bias=score_bias, need_weights=need_weights
        )
        heads, weights = out if need_weights else (out, None)  # (B, H, T, d_k or S)
        x = self.W_O(merge_heads(heads))  # (B, T, D)
        return (x, weights) if need_weights else x

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **how
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let each head attend; what knows of positions overrides this step alone.

        Args:
            q: (B, H, T, d_k); if T < S, of the last positions in self-attention.
            k: (B, H, S, d_k), some of them perhaps kept from earlier calls.
            v: (B, H, S, d_k).
            mask: As in ``forward``.
            how: ``score_bias`` and ``need_weights``, as in ``forward``.

        Returns:
            As :func:`~attnbook.nn.scaled_dot_product.attention`.
        """
        dropout = self.dropout if self.training else 0.0
        return attention(q, k, v, mask, scale=self.scale, dropout=dropout, **how)

    def keys_values(self, key: Tensor, value: Tensor) -> KeysValues:
        """Make each head's keys and values: twice (B, S, D) → (B, H, S, d_k)."""
        return KeysValues(
            split_heads(self.W_K(key), self.n_heads),
            split_heads(self.W_V(value), self.n_heads),
        )


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the D features of each position into H parts: (B, T, D) → (B, H, T, d_k).

    ``view`` cuts the last axis alone; ``transpose`` then brings the heads to the front.
    A ``view`` straight to (B, H, T, d_k) would deal out positions, not features.
    """
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)  # (B, H, T, d_k)


def merge_heads(heads: Tensor) -> Tensor:
    """Lay the heads' parts side by side again: (B, H, T, d_k) → (B, T, D)."""
    return heads.transpose(1, 2).flatten(2)  # (B, T, H, d_k) → (B, T, D)
