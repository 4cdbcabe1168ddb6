"""Scaled dot-product attention, with one head and with several: Vaswani et al. 2017."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.checks import check_sizes
from attnbook.masks import broadcasts, check_mask, masked_softmax


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    score_bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""For each query a mean of the values, weighted by how well their keys fit it.

    Equation 1 of Vaswani et al. 2017,
    :math:`\mathrm{softmax}(q k^\top / \sqrt{d_k})\, v`.

    Args:
        q: Queries, (..., T, d_k), with any number of leading axes.
        k: Keys, (..., S, d_k).
        v: Values, (..., S, d_v).
        mask: bool, True where a query may attend, broadcast to (..., T, S). A query
            that may attend to nothing gets zeros.
        score_bias: Finite numbers to add to the scaled scores, broadcast to
            (..., T, S); what may not be attended to belongs in ``mask``.
        scale: What to multiply the scores by; 1/√d_k if not given.
        dropout: Share of the weights set to 0 at random; the rest grow to make up.
        need_weights: Whether to return the weights too. Without them PyTorch's fused
            kernel computes the same and, for most shapes, never stores all the scores.

    Returns:
        (..., T, d_v); with ``need_weights`` also the weights before dropout,
        (..., T, S).

    Raises:
        ValueError: If the shapes do not belong together, there is no key, the mask is
            not bool, dropout is not in [0, 1), or the types differ.
    """
    check_inputs(q, k, v)
    shape = torch.Size([*q.shape[:-1], k.shape[-2]])  # of the scores
    if mask is not None:
        check_mask(mask, shape)
    if score_bias is not None:
        check_score_bias(score_bias, shape)
        score_bias = score_bias.to(q.dtype)
    check_dropout(dropout)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if not need_weights:
        return _fused(q, k, v, mask, score_bias, scale, dropout)
    scores = q @ k.transpose(-2, -1) * scale  # (..., T, S)
    if score_bias is not None:
        scores = scores + score_bias
    weights = scores.softmax(-1) if mask is None else masked_softmax(scores, mask)
    return F.dropout(weights, dropout) @ v, weights  # (..., T, d_v), (..., T, S)


def _fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    score_bias: Tensor | None,
    scale: float,
    dropout: float,
) -> Tensor:
    """Compute the same in one kernel, which adds a bias and a mask as one tensor."""
    if score_bias is not None:
        score_bias = torch.atleast_2d(score_bias)  # the kernel asks for an axis T
    if mask is None:
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=score_bias, dropout_p=dropout, scale=scale
        )
    mask = torch.atleast_2d(mask)
    # Kernels and versions differ in what a row without any allowed place gives, NaN
    # among it. So such a row is opened, and its result set to zero.
    empty = ~mask.any(-1, keepdim=True)  # (..., T or 1, 1)
    added = mask | empty
    if score_bias is not None:
        added = score_bias.masked_fill(~added, -torch.inf)
    out = F.scaled_dot_product_attention(
        q, k, v, attn_mask=added, dropout_p=dropout, scale=scale
    )
    return out.masked_fill(empty, 0.0)


class MultiHeadAttention(nn.Module):
    r"""Several attentions side by side, each with views of its own: W^Q, W^K, W^V.

    Vaswani et al. 2017, section 3.2.2: :math:`\mathrm{Concat}(head_1, …, head_H) W^O`,
    :math:`head_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V).` The matrices of all
    heads lie side by side in one, so that one product makes all queries.

    Args:
        d_model: Width D of what comes in and goes out.
        n_heads: Number H of heads, each D/H wide.
        bias: Whether the four maps add a vector. The paper's formula has none,
            ``nn.MultiheadAttention`` has.
        dropout: Share of the weights set to 0 in training. The paper names none here,
            ``nn.MultiheadAttention`` has it.

    Raises:
        ValueError: If D cannot be divided by H, or a size is not positive.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, dropout: float = 0.0
    ):
        super().__init__()
        check_sizes(d_model=d_model, n_heads=n_heads)
        check_dropout(dropout)
        if d_model % n_heads:
            raise ValueError(
                f"d_model = {d_model} cannot be divided among {n_heads} heads; choose "
                f"a multiple, such as {n_heads * (d_model // n_heads + 1)}"
            )
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
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

    def project(
        self, query: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make each head's q, (B, H, T, d_k), k and v, (B, H, S, d_k)."""
        return self.queries(query), *self.keys_values(key, value)

    def queries(self, x: Tensor) -> Tensor:
        """Make each head's queries: (B, T, D) → (B, H, T, d_k)."""
        return split_heads(self.W_Q(x), self.n_heads)

    def keys_values(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Make each head's keys and values: twice (B, S, D) → (B, H, S, d_k)."""
        return (
            split_heads(self.W_K(key), self.n_heads),
            split_heads(self.W_V(value), self.n_heads),
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        score_bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from T places to S: three times the same tensor is self-attention.

        Args:
            query: (B, T, D).
            key: (B, S, D).
            value: (B, S, D).
            mask: bool, True where a query may attend; (T, S), or four axes that
                broadcast to (B, H, T, S). Two axes are never (B, S): for pads take
                :func:`~attnbook.masks.key_mask`.
            score_bias: Finite numbers to add to the scaled scores; shapes as for
                the mask.
            need_weights: Whether to return the weights too.

        Returns:
            (B, T, D); with ``need_weights`` also the weights of each head before
            dropout, (B, H, T, S).

        Raises:
            ValueError: If a shape or a type does not fit.
        """
        self._check(query, key, value, mask, score_bias)
        q, k, v = self.project(query, key, value)
        return self.attend(
            q, k, v, mask, score_bias=score_bias, need_weights=need_weights
        )

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        *,
        score_bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend with the heads' q, k and v, and mix what the heads found.

        The second half of ``forward``, for callers that have kept keys and values.
        """
        out = attention(
            q,
            k,
            v,
            mask,
            score_bias=score_bias,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        if not need_weights:
            return self.W_O(merge_heads(out))
        heads, weights = out  # (B, H, T, d_k), (B, H, T, S)
        return self.W_O(merge_heads(heads)), weights

    def _check(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        score_bias: Tensor | None = None,
    ) -> None:
        for name, x in (("query", query), ("key", key), ("value", value)):
            if x.dim() != 3 or x.shape[-1] != self.d_model:
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}; it must be (B, "
                    f"{'T' if name == 'query' else 'S'}, {self.d_model}), batch first"
                )
        if not len(query) == len(key) == len(value):
            raise ValueError(
                f"query, key and value have {len(query)}, {len(key)} and {len(value)} "
                "sentences; row i of each must belong together"
            )
        # With B = H both readings would fit, and the wrong one would go unnoticed.
        for name, x in (("mask", mask), ("score_bias", score_bias)):
            if x is not None and x.dim() == 3:
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}: is its first axis B or H? "
                    f"{name}[:, None] says one for each sentence, {name}[None] for "
                    "each head"
                )

    @classmethod
    def from_torch(cls, theirs: nn.MultiheadAttention) -> MultiHeadAttention:
        """Make one with the weights of PyTorch's, so that both give the same.

        Args:
            theirs: Any ``nn.MultiheadAttention`` that does what the paper says: its
                keys and values are as wide as its queries, none is added.

        Returns:
            A copy; also of its type, device, dropout and mode (train or eval). It takes
            the batch first, whatever ``theirs.batch_first`` says.

        Raises:
            ValueError: If it has ``kdim``, ``vdim``, ``add_bias_kv`` or
                ``add_zero_attn``, or a subclass is asked for that knows positions.
        """
        if cls is not MultiHeadAttention:
            raise ValueError(
                f"{cls.__name__} knows positions, nn.MultiheadAttention does not; call "
                "MultiHeadAttention.from_torch"
            )
        weight = theirs.in_proj_weight  # (3 D, D): W^Q, W^K and W^V below each other
        if weight is None or theirs.bias_k is not None or theirs.add_zero_attn:
            raise ValueError(
                "this nn.MultiheadAttention has kdim, vdim, add_bias_kv or "
                "add_zero_attn, which the paper does not know; make one without"
            )
        stacked = {"weight": weight}
        if theirs.in_proj_bias is not None:
            stacked["bias"] = theirs.in_proj_bias  # (3 D,)
        state = theirs.out_proj.state_dict(prefix="W_O.")
        for name, rows in stacked.items():
            for linear, part in zip(("W_Q", "W_K", "W_V"), rows.chunk(3), strict=True):
                state[f"{linear}.{name}"] = part
        sizes = theirs.embed_dim, theirs.num_heads
        ours = cls(*sizes, bias="bias" in stacked, dropout=theirs.dropout).to(weight)
        ours.load_state_dict(state)
        return ours.train(theirs.training)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the D numbers of each place into H parts: (B, T, D) → (B, H, T, d_k).

    ``view`` cuts the last axis alone; ``transpose`` then brings the heads to the front.
    A ``view`` straight to (B, H, T, d_k) would deal out places, not numbers.
    """
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)  # (B, H, T, d_k)


def merge_heads(heads: Tensor) -> Tensor:
    """Lay the heads' parts side by side again: (B, H, T, d_k) → (B, T, D)."""
    return heads.transpose(1, 2).flatten(2)  # (B, T, H, d_k) → (B, T, D)


def check_inputs(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise a ValueError unless queries, keys and values belong together."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() < 2:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}; it needs an axis of places "
                "and one of numbers: x[None] makes one vector a matrix"
            )
    if not q.is_floating_point() or not q.dtype == k.dtype == v.dtype:
        raise ValueError(
            f"q, k and v are of types {q.dtype}, {k.dtype} and {v.dtype}; they must be "
            "of one floating-point type: x.to(q.dtype) turns one into the other's"
        )
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ValueError(
            f"q, k and v have shapes {tuple(q.shape)}, {tuple(k.shape)} and "
            f"{tuple(v.shape)}; they must agree in all axes but the last two"
        )
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"queries are {q.shape[-1]} wide, keys {k.shape[-1]}; a dot product needs "
            "one width d_k: project both to it"
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"there are {k.shape[-2]} keys, but {v.shape[-2]} values; each key needs "
            "one value: make both from the same S places"
        )
    if k.shape[-2] == 0 or k.shape[-1] == 0:
        raise ValueError(
            f"k has shape {tuple(k.shape)}: there is no key (S = 0) or nothing in it "
            "(d_k = 0); a softmax needs at least one: leave empty sentences out"
        )


def check_score_bias(score_bias: Tensor, shape: torch.Size) -> None:
    """Raise a ValueError unless the bias is of numbers and broadcasts to ``shape``."""
    if not score_bias.is_floating_point():
        raise ValueError(
            f"score_bias is of type {score_bias.dtype}; it must hold numbers to add to "
            "the scores: what may be used or not is said by `mask`"
        )
    if not broadcasts(score_bias.shape, shape):
        raise ValueError(
            f"score_bias has shape {tuple(score_bias.shape)}, the scores "
            f"{tuple(shape)}; each axis, counted from the last, must agree or be 1"
        )


def check_dropout(dropout: float) -> None:
    """Raise a ValueError unless 0 ≤ dropout < 1."""
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout!r}; it is a share, from 0 to below 1")
