"""Layers that map a sequence to one of the same shape: (B, n, D) → (B, n, D).

They differ in what a position can see. In self-attention it sees all positions. In the
others it sees itself and earlier positions, as in a decoder: all of them in a recurrent
layer, through its hidden state; the last few in a convolution and in windowed
self-attention.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.checks import check_sizes
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention, merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention


class SelfAttentionLayer(nn.Module):
    """Self-attention without a mask: each position attends to all positions.

    Args:
        d_model: Width D.
        n_heads: Number H of heads.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, n, D) to (B, n, D)."""
        return self.attention(x, x, x)


class RecurrentLayer(nn.Module):
    """A recurrent layer, read from left to right; its state is as wide as its input.

    Args:
        d_model: Width D.
        unit: ``nn.GRU``, ``nn.RNN`` or ``nn.LSTM``.
    """

    def __init__(self, d_model: int, unit: type[nn.Module] = nn.GRU):
        super().__init__()
        check_sizes(d_model=d_model)
        self.rnn = unit(d_model, d_model, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, n, D) to (B, n, D)."""
        return self.rnn(x)[0]


class ConvolutionLayer(nn.Module):
    """A causal convolution: each position sees itself and positions before it.

    Args:
        d_model: Width D.
        width: Kernel width k: the number of positions seen, its own included.
        dilation: Distance between these positions; 1: adjacent.
    """

    def __init__(self, d_model: int, width: int, dilation: int = 1):
        super().__init__()
        check_sizes(d_model=d_model, width=width, dilation=dilation)
        self.padding = (width - 1) * dilation  # on the left: no position sees the next
        self.conv = nn.Conv1d(d_model, d_model, width, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, n, D) to (B, n, D)."""
        x = F.pad(x.mT, (self.padding, 0))  # (B, D, padding + n), as Conv1d expects
        return self.conv(x).mT  # (B, n, D)


class WindowedSelfAttention(nn.Module):
    """Self-attention in which each position attends to the last r, its own included.

    Vaswani et al. 2017, section 4, call it restricted. The sequence is cut into blocks
    of r positions. A window always lies within two blocks, its own and the one before,
    so each query has 2r keys, however long the sequence.

    Args:
        d_model: Width D.
        n_heads: Number H of heads.
        window: r.
    """

    def __init__(self, d_model: int, n_heads: int, window: int):
        super().__init__()
        check_sizes(window=window)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.window = window

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, n, D) to (B, n, D)."""
        mha, r, n = self.attention, self.window, x.shape[1]
        x = F.pad(x, (0, 0, 0, -n % r))  # (B, m r, D): m whole blocks
        b, blocks = len(x), x.shape[1] // r
        q = mha.W_Q(x).unflatten(1, (blocks, r)).flatten(0, 1)  # (B m, r, D)
        k, v = (_with_previous_block(W(x), r) for W in (mha.W_K, mha.W_V))
        q, k, v = (split_heads(y, mha.n_heads) for y in (q, k, v))
        mask = block_window_mask(blocks, r, x.device)[:, None].repeat(b, 1, 1, 1)
        out = merge_heads(attention(q, k, v, mask))  # (B m, r, D)
        return mha.W_O(out.unflatten(0, (b, blocks)).flatten(1, 2)[:, :n])


def _with_previous_block(x: Tensor, r: int) -> Tensor:
    """Cut (B, m r, D) into blocks, each with the one before it: (B m, 2r, D)."""
    padded = F.pad(x, (0, 0, r, 0))  # an empty block before the first
    return padded.unfold(1, 2 * r, r).mT.flatten(0, 1)  # (B, m, D, 2r) → (B m, 2r, D)


def block_window_mask(blocks: int, r: int, device=None) -> Tensor:
    """Mask of the 2r keys of each block for windowed self-attention: (m, r, 2r), bool.

    Key r + i is the position of query i itself; the first r keys of the first block are
    padding.
    """
    up_to_itself = causal_mask(r, 2 * r, offset=r, device=device)  # (r, 2r)
    near = up_to_itself & ~causal_mask(r, 2 * r, device=device)  # the last r of them
    mask = near.repeat(blocks, 1, 1)
    mask[0, :, :r] = False
    return mask
