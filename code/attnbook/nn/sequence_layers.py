"""Kinds of layer that rewrite every place of a sequence: (B, n, D) → (B, n, D).

Self-attention sees all places. The others see what stands before a place, as in a
decoder: a recurrent layer all of it, but only in its state; a convolution and a
restricted self-attention the last few places, their own among them.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.checks import check_sizes
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention, merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention


class SelfAttentionLayer(nn.Module):
    """Every place attends to every place.

    Args:
        d_model: Width D.
        n_heads: Number H of heads.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.look = MultiHeadAttention(d_model, n_heads)

    def forward(self, x: Tensor) -> Tensor:
        """Rewrite (B, n, D)."""
        return self.look(x, x, x)


class RecurrentLayer(nn.Module):
    """Reads place by place into a state as wide as the input.

    Args:
        d_model: Width D.
        unit: ``nn.GRU``, ``nn.RNN`` or ``nn.LSTM``.
    """

    def __init__(self, d_model: int, unit: type[nn.Module] = nn.GRU):
        super().__init__()
        check_sizes(d_model=d_model)
        self.reader = unit(d_model, d_model, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Rewrite (B, n, D)."""
        return self.reader(x)[0]


class ConvolutionLayer(nn.Module):
    """Mixes each place with those before it, with one matrix for each distance.

    Args:
        d_model: Width D.
        width: Number k of places it sees, its own among them.
        dilation: How far apart these are; 1: next to each other.
        separable: Whether to mix places first, each number by itself, then numbers,
            each place by itself.
    """

    def __init__(
        self, d_model: int, width: int, dilation: int = 1, separable: bool = False
    ):
        super().__init__()
        check_sizes(d_model=d_model, width=width, dilation=dilation)
        self.before = (width - 1) * dilation  # how far it looks back
        groups = d_model if separable else 1
        self.mix = nn.Conv1d(d_model, d_model, width, dilation=dilation, groups=groups)
        self.after = nn.Linear(d_model, d_model) if separable else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Rewrite (B, n, D)."""
        x = F.pad(x.mT, (self.before, 0))  # (B, D, before + n): Conv1d wants this
        return self.after(self.mix(x).mT)  # (B, n, D)


class WindowedSelfAttention(nn.Module):
    """Each place attends to the last r alone, its own among them.

    Places are cut into blocks of r. What a place may see lies in its own block and the
    one before: 2r keys a query, however long the sequence.

    Args:
        d_model: Width D.
        n_heads: Number H of heads.
        window: r.
    """

    def __init__(self, d_model: int, n_heads: int, window: int):
        super().__init__()
        check_sizes(window=window)
        self.look = MultiHeadAttention(d_model, n_heads)
        self.window = window

    def forward(self, x: Tensor) -> Tensor:
        """Rewrite (B, n, D)."""
        look, r, n = self.look, self.window, x.shape[1]
        x = F.pad(x, (0, 0, 0, -n % r))  # (B, m r, D): whole blocks
        b, blocks = len(x), x.shape[1] // r
        q = look.W_Q(x).unflatten(1, (blocks, r)).flatten(0, 1)  # (B m, r, D)
        k, v = (_with_the_block_before(W(x), r) for W in (look.W_K, look.W_V))
        q, k, v = (split_heads(y, look.n_heads) for y in (q, k, v))
        mask = window_mask(blocks, r, x.device)[:, None].repeat(b, 1, 1, 1)
        found = merge_heads(attention(q, k, v, mask))  # (B m, r, D)
        return look.W_O(found.unflatten(0, (b, blocks)).flatten(1, 2)[:, :n])


def _with_the_block_before(x: Tensor, r: int) -> Tensor:
    """Cut (B, m r, D) into blocks, each with the one before it: (B m, 2r, D)."""
    padded = F.pad(x, (0, 0, r, 0))  # before the first block stands nothing
    return padded.unfold(1, 2 * r, r).mT.flatten(0, 1)  # (B, m, D, 2r) → (B m, 2r, D)


def window_mask(blocks: int, r: int, device=None) -> Tensor:
    """Which of its block's 2r keys each query may see: (m, r, 2r), bool.

    Key r + i is the query's own place i; the first r keys of the first block are no
    places.
    """
    up_to_itself = causal_mask(r, 2 * r, offset=r, device=device)  # (r, 2r)
    near = up_to_itself & ~causal_mask(r, 2 * r, device=device)  # the last r of them
    mask = near.repeat(blocks, 1, 1)
    mask[0, :, :r] = False
    return mask
