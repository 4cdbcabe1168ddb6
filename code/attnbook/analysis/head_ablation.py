"""Attention with some of its heads removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from attnbook.nn.multi_head import MultiHeadAttention


@contextmanager
def without_heads(
    attention: MultiHeadAttention, heads: Iterable[int]
) -> Iterator[None]:
    """Remove heads from a layer until the ``with`` block ends.

    The output is a sum of one contribution per head: its d_k features times its d_k
    rows of W^O. They are set to 0 here, and the bias of W^O stays.

    Args:
        attention: The layer.
        heads: Numbers of the heads, from 0.

    Raises:
        ValueError: If there is no such head.

    Examples:
        >>> from attnbook.nn import MultiHeadAttention
        >>> mha, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
        >>> with without_heads(mha, [0, 1]):  # what is left is the bias of W^O
        ...     bool((mha(x, x, x) == mha.W_O.bias).all())
        True
    """
    heads = sorted(set(heads))
    if wrong := [head for head in heads if head not in range(attention.n_heads)]:
        raise ValueError(
            f"there is no head {wrong[0]}; this layer has the heads 0 to "
            f"{attention.n_heads - 1}"
        )
    weight = attention.W_O.weight  # (D, D), transposed: columns are the rows of W^O
    before = weight.detach().clone()
    try:
        with torch.no_grad():
            columns = weight.chunk(attention.n_heads, dim=1)  # H of (D, d_k)
            for head in heads:
                columns[head].zero_()
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)
