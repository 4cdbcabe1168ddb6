"""Mistakes of widely copied code, kept alive so that the checks can be seen at work.

None of them stops a program, and nothing in the package uses them.
"""

from __future__ import annotations

from torch import Tensor

from attnbook.attention import MultiHeadAttention, attention


class WrongSplit(MultiHeadAttention):
    """Deals out places to the heads, not numbers: a ``view`` without its transpose.

    Each head gets all the numbers of a few places, and never sees the others.
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend, but with heads that hold whole places."""
        b, t, d = query.shape
        wrong = (b, self.n_heads, -1, d // self.n_heads)  # (B, H, T, d_k), wrongly
        linears = (self.W_Q, self.W_K, self.W_V)
        q, k, v = (
            linear(x).view(wrong)
            for linear, x in zip(linears, (query, key, value), strict=True)
        )
        dropout = self.dropout if self.training else 0.0
        out = attention(q, k, v, mask, dropout=dropout, need_weights=need_weights)
        if not need_weights:
            return self.W_O(out.reshape(b, t, d))
        heads, weights = out
        return self.W_O(heads.reshape(b, t, d)), weights
