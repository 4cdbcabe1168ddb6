"""Two answers at each position: models of two colours."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnbook.core.divergence import check_finite
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.training import train_step

# Colours: three independent numbers at each position

LENGTH, WIDTH, BATCH = 8, 64, 64
STEPS, RATE = 2000, 4e-3


class Colours(nn.Module):
    """Colours and positions, one attention, and a linear output of two colours.

    All but the softmax is linear in the colours.
    """

    def __init__(self, n_heads: int, width: int = WIDTH):
        super().__init__()
        self.embedding = nn.Linear(3, width)
        self.positions = nn.Parameter(torch.empty(LENGTH, width).normal_(std=0.5**0.5))
        self.attention = MultiHeadAttention(width, n_heads)
        self.out = nn.Linear(width, 6)

    def forward(self, colours: Tensor) -> Tensor:
        """Map colours, (B, L, 3), to the colours one and two back, (B, L, 2, 3)."""
        x = self.embedding(colours) + self.positions  # (B, L, D)
        return self.out(self.attention(x, x, x)).unflatten(-1, (2, 3))


def colour_batches(seed: int, size: int = BATCH) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless batches of Gaussian colours, (B, L, 3), and answers, (B, L, 2, 3)."""
    g = torch.Generator().manual_seed(seed)
    while True:
        colours = torch.randn(size, LENGTH, 3, generator=g)
        yield colours, torch.stack([colours.roll(1, 1), colours.roll(2, 1)], 2)


def missing(outputs: Tensor, answers: Tensor) -> Tensor:
    """The share of each answer's variance that is missing, (2,), where both exist."""
    wrong = (outputs - answers)[:, 2:].square().mean((0, 1, 3))
    return wrong / answers[:, 2:].square().mean((0, 1, 3))


def train_colours(
    seed: int, n_heads: int = 1, width: int = WIDTH, steps: int = STEPS
) -> Colours:
    """Train a model by Adam; the learning rate falls along half a cosine."""
    torch.manual_seed(seed)
    model, batches = Colours(n_heads, width), colour_batches(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = (
            RATE * (1 + math.cos(math.pi * step / steps)) / 2
        )
        train_step(model, optimizer, next(batches), lambda *b: missing(*b).sum())
    check_finite(model.parameters())
    return model.eval()


@torch.no_grad()
def measured(model: Colours, batch: tuple[Tensor, Tensor]) -> list[float]:
    """The missing shares on a batch."""
    return [round(x, 4) for x in missing(model(batch[0]), batch[1]).tolist()]


@contextmanager
def mean_ablated(attention: MultiHeadAttention, head: int) -> Iterator[None]:
    """Let a head return its mean over the batch until the ``with`` block ends.

    Set to zero, it would lose its constant part, too, and move the other answer.
    """

    def average(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        heads = [*args[0].chunk(attention.n_heads, dim=-1)]
        heads[head] = heads[head].mean(0, keepdim=True).expand_as(heads[head])
        return (torch.cat(heads, -1),)

    handle = attention.W_O.register_forward_pre_hook(average)
    try:
        yield
    finally:
        handle.remove()
