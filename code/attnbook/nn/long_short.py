"""Long–short attention: half of the features by attention, half by convolution.

The layer of Lite Transformer, Wu et al. 2020. Attention looks anywhere, the convolution
at the neighbours; the feed-forward network behind them mixes the two halves. Where the
paper makes the kernels anew from each token, ours are learned and fixed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.checks import check_sizes
from attnbook.nn.multi_head import MultiHeadAttention


class LocalBranch(nn.Module):
    """A gate, a convolution of each feature around each position, a projection.

    Args:
        d_model: Width of what comes in and goes out.
        width: Positions that the convolution sees, half of them on either side: odd.

    Raises:
        ValueError: If the width is even, or a size not positive.
    """

    def __init__(self, d_model: int, width: int):
        super().__init__()
        check_sizes(d_model=d_model, width=width)
        if width % 2 == 0:
            raise ValueError(f"width is {width}; it must be odd, to have a centre")
        self.gate = nn.Linear(d_model, 2 * d_model)
        self.conv = nn.Conv1d(
            d_model, d_model, width, padding=width // 2, groups=d_model
        )
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """Mix each position with its neighbours.

        Args:
            x: (B, S, D).
            real: bool, (B, S), False at padding, which then changes nothing.

        Returns:
            (B, S, D).
        """
        y = F.glu(self.gate(x), -1)  # (B, S, 2 D) → (B, S, D)
        if real is not None:
            y = y.masked_fill(~real[..., None], 0.0)  # as beyond the end
        return self.out(self.conv(y.mT).mT)  # Conv1d takes (B, D, S)


class LongShortAttention(nn.Module):
    """Self-attention for the first half of the features, convolution for the second.

    It stands where an encoder layer has its self-attention.

    Args:
        d_model: Width D of what comes in and goes out: even.
        n_heads: Heads of the attention, which is D/2 wide.
        width: Of the convolution, as in :class:`LocalBranch`.
        dropout: Dropout rate of the attention weights.

    Raises:
        ValueError: If D is odd, or a size does not fit.
    """

    def __init__(self, d_model: int, n_heads: int, width: int, *, dropout: float = 0.0):
        super().__init__()
        check_sizes(d_model=d_model)
        if d_model % 2:
            raise ValueError(f"d_model is {d_model}; it must be even, to be halved")
        self.attention = MultiHeadAttention(d_model // 2, n_heads, dropout=dropout)
        self.local = LocalBranch(d_model // 2, width)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Rewrite each position of one sequence.

        Args:
            query: (B, S, D).
            key: The same tensor, or nothing.
            value: The same tensor, or nothing.
            mask: Hides padding and nothing else: :func:`~attnbook.nn.masks.key_mask`.

        Returns:
            (B, S, D).

        Raises:
            ValueError: If key or value is another tensor, or the mask differs from
                query to query.
        """
        if any(x is not None and x is not query for x in (key, value)):
            raise ValueError(
                "long–short attention is self-attention: query, key and value are one "
                "tensor, since a convolution has no second sequence to look at"
            )
        far, near = query.chunk(2, dim=-1)  # (B, S, D/2) each
        far = self.attention(far, far, far, mask)
        near = self.local(near, None if mask is None else real_positions(mask, near))
        return torch.cat([far, near], dim=-1)  # (B, S, D)


def real_positions(mask: Tensor, x: Tensor) -> Tensor:
    """Read off a padding mask which positions are real: (B, S), bool.

    Args:
        mask: Broadcast to (B, H, S, S), the same for all heads and queries.
        x: What it belongs to, (B, S, D).

    Raises:
        ValueError: If it differs from query to query, as a causal mask does.
    """
    if mask.dim() != 4 or mask.shape[1:3] != (1, 1):
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)}; it must be (B, 1, 1, S), as "
            "key_mask makes it: the convolution sees both sides, so no decoder can use "
            "it"
        )
    return mask[:, 0, 0].expand(x.shape[:2])
