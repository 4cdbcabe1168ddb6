r"""Linear attention: Katharopoulos et al. 2020, Transformers are RNNs.

The weight of a key is :math:`\phi(q) \cdot \phi(k)` instead of
:math:`\exp(q \cdot k / \sqrt{d_k})`, so keys and values can be summed before the query
is known. The sums are a state of fixed size, however long the sequence.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.attention_checks import check_heads, check_inputs
from attnbook.nn.multi_head import make_projections, merge_heads, split_heads
from attnbook.nn.precision import wide, without_autocast


class LinearState(NamedTuple):
    """What linear attention keeps of all keys and values so far, at least float32."""

    s: Tensor  # (..., d_k, d_v)  sum of φ(k) vᵀ
    z: Tensor  # (..., d_k)  sum of φ(k)


def feature_map(x: Tensor) -> Tensor:
    """φ: make every feature positive, elu(x) + 1, as in the paper's equation 7.

    Below 0 this is exp(x). Written as a sum, it would round to 0 from about -17 on, and
    a query with such features has no weights.
    """
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def empty_state(k: Tensor, v: Tensor) -> LinearState:
    """The state before the first position: zeros.

    Args:
        k: Keys, (..., S, d_k).
        v: Values, (..., S, d_v).
    """
    one = wide(k.new_zeros(()))
    return LinearState(
        one.new_zeros(*k.shape[:-2], k.shape[-1], v.shape[-1]),
        one.new_zeros(*k.shape[:-2], k.shape[-1]),
    )


def causal_linear_attention(
    q: Tensor, k: Tensor, v: Tensor, block: int = 64, state: LinearState | None = None
) -> tuple[Tensor, LinearState]:
    """Causal linear attention: each query averages the values up to its own position.

    Equations 9 to 12 of Katharopoulos et al. 2020. Within a block all pairs of
    positions are compared; what came before the block is in the state. With ``block``
    1 this is the recurrent form, with n the quadratic one.

    Args:
        q: Queries, (..., n, d_k).
        k: Keys, (..., n, d_k).
        v: Values, (..., n, d_v).
        block: Positions that are computed at once.
        state: Of the positions before; None: there are none.

    Returns:
        (..., n, d_v), and the state after the last position.

    Raises:
        ValueError: If the shapes or types do not belong together, or there are not as
            many keys as queries.
    """
    check_inputs(q, k, v)
    check_sizes(block=block)
    if q.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"{q.shape[-2]} queries and {k.shape[-2]} keys; causal linear attention "
            "has one key for each query: give those of the same positions"
        )
    s, z = empty_state(k, v) if state is None else state
    outputs = []
    exact = feature_map(wide(q)), feature_map(wide(k)), wide(v)
    parts = (x.split(block, dim=-2) for x in exact)
    with without_autocast(q):
        for q_b, k_b, v_b in zip(*parts, strict=True):
            pairs = (q_b @ k_b.mT).tril()  # (..., b, b): within the block
            total = pairs.sum(-1, keepdim=True) + q_b @ z[..., None]  # (..., b, 1)
            outputs.append((pairs @ v_b + q_b @ s) / total)  # (..., b, d_v)
            s, z = s + k_b.mT @ v_b, z + k_b.sum(-2)
    return torch.cat(outputs, dim=-2).to(q.dtype), LinearState(s, z)


class LinearAttention(nn.Module):
    """Multi-head self-attention with linear attention in its heads, causal.

    Args:
        d_model: Width D of what comes in and goes out.
        n_heads: Number H of heads; the state has D · D/H numbers.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        check_sizes(d_model=d_model, n_heads=n_heads)
        check_heads(d_model, n_heads)
        self.n_heads = n_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = make_projections(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Map all positions at once: (B, n, D) to (B, n, D)."""
        return self.step(x)[0]

    def step(
        self, x: Tensor, state: LinearState | None = None
    ) -> tuple[Tensor, LinearState]:
        """Map n positions more, (B, n, D), given the state of those before them.

        Returns:
            (B, n, D), and the new state; the old one is not changed.
        """
        q, k, v = (
            split_heads(W(x), self.n_heads) for W in (self.W_Q, self.W_K, self.W_V)
        )  # (B, H, n, d_k)
        heads, state = causal_linear_attention(q, k, v, state=state)
        return self.W_O(merge_heads(heads)), state
