"""Scaled dot-product attention: Vaswani et al. 2017, section 3.2.1."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.nn.masks import broadcasts, check_mask, masked_softmax


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
