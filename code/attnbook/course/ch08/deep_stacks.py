"""Deep stacks of self-attention and their rank collapse, by kind of connection."""

import torch
from torch import Tensor, nn

from attnbook.nn.block import Residual
from attnbook.nn.multi_head import MultiHeadAttention

CONNECTIONS = ("none", "residual", "post-norm", "pre-norm")
"""f(x), x + f(x), LayerNorm(x + f(x)), x + f(LayerNorm(x))."""


class Stack(nn.Module):
    """A stack of self-attentions with one of four kinds of connection.

    Args:
        connection: One of :data:`CONNECTIONS`.
        n_blocks: Number of self-attentions.
        d_model: Width D.
        n_heads: Number H of heads.
        weight_scale: Factor on the initial weights of ``MultiHeadAttention``.

    Raises:
        ValueError: If there is no such connection.
    """

    def __init__(
        self,
        connection: str,
        n_blocks: int = 24,
        d_model: int = 64,
        n_heads: int = 4,
        weight_scale: float = 1.0,
    ):
        super().__init__()
        if connection not in CONNECTIONS:
            raise ValueError(
                f"connection is {connection!r}; choose one of {', '.join(CONNECTIONS)}"
            )
        self.connection = connection
        self.blocks = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads) for _ in range(n_blocks)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(n_blocks))
        self.residual = Residual(norm_first=connection == "pre-norm")
        with torch.no_grad():
            for parameter in self.blocks.parameters():
                parameter.mul_(weight_scale)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Return the input of the first block and the output of each, (B, T, D)."""
        states = [x]
        for block, norm in zip(self.blocks, self.norms, strict=True):
            states.append(self._connect(states[-1], block, norm))
        return states

    def _connect(self, x: Tensor, block: nn.Module, norm: nn.Module) -> Tensor:
        if self.connection == "none":
            return block(x, x, x)
        if self.connection == "residual":
            return x + block(x, x, x)
        return self.residual(x, lambda y: block(y, y, y), norm)


def token_diversity(x: Tensor) -> float:
    """Share of the vectors' squared norm that is not their mean over the positions.

    It measures rank collapse (Dong et al. 2021): the squared distance of the vectors
    of a sentence from their common mean, relative to their squared norm.

    Args:
        x: (B, T, D).

    Returns:
        0 if all positions of a sentence have the same vector; about 1 - 1/T for
        independent vectors of mean 0.
    """
    deviation = x - x.mean(1, keepdim=True)  # (B, T, D)
    return (deviation.square().sum() / x.square().sum()).item()
