"""Scaled dot-product attention: Vaswani et al. 2017, section 3.2.1."""

from __future__ import annotations

import math
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.core.checks import check_dropout
from attnbook.nn.attention_checks import check_inputs, check_mask, check_score_bias
from attnbook.nn.masks import masked_softmax
from attnbook.nn.precision import dot_products, wide, without_autocast


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
    r"""For each query, average the values, weighted by how well their keys match it.

    Equation 1 of Vaswani et al. 2017,
    :math:`\mathrm{softmax}(q k^\top / \sqrt{d_k})\, v`.

    Args:
        q: Queries, (..., T, d_k), with any number of leading axes.
        k: Keys, (..., S, d_k).
        v: Values, (..., S, d_v).
        mask: bool, True where a query may attend, broadcast to (..., T, S). A fully
            masked query gets zeros.
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

    Examples:
        >>> from attnbook.nn import attention, causal_mask
        >>> x = torch.eye(3)  # three positions, three features each
        >>> output, weights = attention(x, x, x, causal_mask(3), need_weights=True)
        >>> weights[0]  # the first position may attend to itself alone
        tensor([1., 0., 0.])
    """
    mask, score_bias = _checked(q, k, v, mask, score_bias)
    check_dropout(dropout)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if need_weights:
        scores = dot_products(q, k) * scale  # (..., T, S)
        if score_bias is not None:
            scores = scores + score_bias
        weights = scores.softmax(-1) if mask is None else masked_softmax(scores, mask)
        with without_autocast(v):
            out = F.dropout(weights, dropout) @ wide(v)  # (..., T, d_v)
        return out.to(v.dtype), weights.to(v.dtype)
    if mask is None:
        return _fused(q, k, v, score_bias, dropout, scale)
    # Kernels and versions of PyTorch differ in what a fully masked row gives, NaN among
    # it. So such a row is opened, and its result set to zero.
    fully_masked = ~mask.any(-1, keepdim=True)  # (..., T or 1, 1)
    added = mask | fully_masked
    if score_bias is not None:  # the kernel takes both as one tensor
        added = score_bias.masked_fill(~added, -torch.inf)
    return _fused(q, k, v, added, dropout, scale).masked_fill(fully_masked, 0.0)


def _checked(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, score_bias: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Check that all belong together; give mask and bias an axis of queries."""
    check_inputs(q, k, v)
    shape = torch.Size([*q.shape[:-1], k.shape[-2]])  # of the scores
    if mask is not None:
        check_mask(mask, shape)
        mask = torch.atleast_2d(mask)
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
