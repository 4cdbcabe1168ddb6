"""Scaled dot-product attention: Vaswani et al. 2017, section 3.2.1."""

from __future__ import annotations

import math
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.core.checks import check_dropout
from attnbook.nn.attention_checks import check_inputs, check_mask, check_score_bias
from attnbook.nn.masks import PreparedMask, masked_softmax, prepare_mask
from attnbook.nn.precision import dot_products, wide, without_autocast


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | PreparedMask | None = None,
    *,
    score_bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""For each query, average the values, weighted by how well their keys match it.

    Equation 1 of Vaswani et al. 2017,
    :math:`\mathrm{softmax}(q k^\top / \sqrt{d_k})\, v`.

    Args:
        q: Queries, (..., T, d_k), with any number of leading axes.
        k: Keys, (..., S, d_k).
        v: Values, (..., S, d_v).
        mask: bool, True where a query may attend, broadcast to (..., T, S); or one
            from :func:`~attnbook.nn.masks.prepare_mask`, for use in many layers. A
            fully masked query gets zeros.
        score_bias: Finite numbers to add to the scaled scores, as broadcast as mask.
        scale: What to multiply the scores by; 1/√d_k if not given.
        dropout: Share of the weights set to 0 at random; the rest grow to make up.
        need_weights: Whether to return the weights too. Without them PyTorch's fused
            kernel computes the same and, for most shapes, never stores all the scores.

    Returns:
        (..., T, d_v); with ``need_weights`` also weights before dropout, (..., T, S).

    Raises:
        ValueError: If the shapes do not belong together, there is no key, the mask is
            not bool, dropout is not in [0, 1), or the types differ.
    """
    mask, score_bias = _prepared(q, k, v, mask, score_bias)
    check_dropout(dropout)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if need_weights:
        scores = dot_products(q, k) * scale  # (..., T, S)
        if score_bias is not None:
            scores = scores + score_bias
        if mask is None:
            weights = scores.softmax(-1)  # (..., T, S)
        else:
            weights = masked_softmax(scores, mask.mask)
        with without_autocast(v):
            out = F.dropout(weights, dropout) @ wide(v)  # (..., T, d_v)
        return out.to(v.dtype), weights.to(v.dtype)
    added = score_bias
    if mask is not None:
        added = mask.opened
        if score_bias is not None:  # the kernel takes both as one tensor
            added = score_bias.masked_fill(~mask.opened, -torch.inf)
    out = _fused(q, k, v, added, dropout, scale)
    return out if mask is None else out.masked_fill(mask.fully_masked, 0.0)


def _prepared(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | PreparedMask | None,
    score_bias: Tensor | None,
) -> tuple[PreparedMask | None, Tensor | None]:
    """Check that all belong together; prepare the mask, cast the bias."""
    check_inputs(q, k, v)
    shape = torch.Size([*q.shape[:-1], k.shape[-2]])  # of the scores
    if mask is not None:
        mask = prepare_mask(mask)
        check_mask(mask.mask, shape)
    if score_bias is not None:
        check_score_bias(score_bias, shape)
        largest = torch.finfo(q.dtype).max
        if largest < torch.finfo(score_bias.dtype).max:  # -1e9 stays finite in float16
            score_bias = score_bias.clamp(-largest, largest)
        score_bias = torch.atleast_2d(score_bias.to(q.dtype))
    return mask, score_bias


def _fused(
    q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """PyTorch's fused kernel; under autocast on a CPU it computes in fp32.

    In bf16 the CPU's kernel takes about nine times as long backward, which costs more
    than bf16 saves in all other matrix products together.
    """
    widen = q.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    if widen:
        q, k, v = q.float(), k.float(), v.float()
        if added is not None and added.is_floating_point():
            added = added.float()
    with torch.autocast("cpu", enabled=False) if widen else nullcontext():
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=added, dropout_p=dropout, scale=scale
        )
