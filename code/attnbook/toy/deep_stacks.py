"""What becomes of places and gradients in a deep stack, by what is around a block."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.residual import Residual

WAYS = ("none", "residual", "post-norm", "pre-norm")
"""f(x), x + f(x), LayerNorm(x + f(x)), x + f(LayerNorm(x))."""


class Stack(nn.Module):
    """Self-attentions one after the other, joined in one of four ways.

    Args:
        way: One of :data:`WAYS`.
        n_blocks: How many.
        d_model: Width D.
        n_heads: Number H of heads.
        size: What to multiply the weights by that ``MultiHeadAttention`` starts with.

    Raises:
        ValueError: If there is no such way.
    """

    def __init__(
        self,
        way: str,
        n_blocks: int = 24,
        d_model: int = 64,
        n_heads: int = 4,
        size: float = 1.0,
    ):
        super().__init__()
        check_sizes(n_blocks=n_blocks)
        if way not in WAYS:
            raise ValueError(f"way is {way!r}; choose one of {', '.join(WAYS)}")
        self.way = way
        self.blocks = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads) for _ in range(n_blocks)
        )
        self.around = nn.ModuleList(
            Residual(d_model, norm_first=way == "pre-norm") for _ in range(n_blocks)
        )
        with torch.no_grad():
            for parameter in self.blocks.parameters():
                parameter.mul_(size)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Give what goes into the first block and what comes out of each.

        Args:
            x: (B, T, D).

        Returns:
            n_blocks + 1 tensors, (B, T, D).
        """
        states = [x]
        for block, around in zip(self.blocks, self.around, strict=True):
            states.append(self._join(states[-1], block, around))
        return states

    def _join(self, x: Tensor, block: nn.Module, around: Residual) -> Tensor:
        if self.way == "none":
            return block(x, x, x)
        if self.way == "residual":
            return x + block(x, x, x)
        return around(x, lambda y: block(y, y, y))


def gradients(stack: Stack, x: Tensor, direction: Tensor) -> list[float]:
    """How much of a gradient at the end arrives before each block.

    Args:
        stack: The blocks.
        x: What goes into the first, (B, T, D).
        direction: The gradient at the end, (B, T, D).

    Returns:
        n_blocks + 1 lengths, in units of that of ``direction``.
    """
    states = stack(x.detach().requires_grad_())
    found = torch.autograd.grad(states[-1], states, direction)
    return [(g.norm() / direction.norm()).item() for g in found]


def own_share(x: Tensor) -> float:
    """Share of the squared numbers that is not the mean of the sentence's places.

    Args:
        x: (B, T, D).

    Returns:
        0 if all places of a sentence are alike; for independent places of mean 0
        about 1 - 1/T.
    """
    own = x - x.mean(1, keepdim=True)  # (B, T, D)
    return (own.square().sum() / x.square().sum()).item()
