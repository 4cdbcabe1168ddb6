"""A pre-norm block whose four parts are given: attention, feed-forward, two norms."""

from __future__ import annotations

from torch import Tensor, nn

from attnbook.nn.residual import add_and_norm


class Block(nn.Module):
    r"""Self-attention and a feed-forward network, each behind a norm, each added.

    :math:`x + \mathrm{attention}(\mathrm{norm}_1(x))`, then
    :math:`x + \mathrm{feedforward}(\mathrm{norm}_2(x))`. With the parts of 2017 it is
    a pre-norm :class:`~attnbook.nn.layers.EncoderLayer`.

    Args:
        norm_1: Before the attention; maps (B, T, D) to (B, T, D), as all four do.
        attention: Called with query, key, value and mask.
        norm_2: Before the feed-forward network.
        feed_forward: Called with one tensor.
        dropout: Of what is added.
    """

    norm_first = True

    def __init__(
        self,
        norm_1: nn.Module,
        attention: nn.Module,
        norm_2: nn.Module,
        feed_forward: nn.Module,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.norm_1, self.attention = norm_1, attention
        self.norm_2, self.feed_forward = norm_2, feed_forward
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Rewrite each position: (B, T, D), under a mask that fits (B, H, T, T)."""

        def attend(y: Tensor) -> Tensor:
            return self.attention(y, y, y, mask)

        x = add_and_norm(self, x, attend, self.norm_1)
        return add_and_norm(self, x, self.feed_forward, self.norm_2)
