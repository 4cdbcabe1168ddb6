"""What reaches the last place? A small model that answers there and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.nn.positions import SinusoidalPositions
from attnbook.nn.residual import Residual
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
)
from attnbook.toy.tasks import N_SYMBOLS, TASK_VOCAB_SIZE, random_symbols


class LastPosition(nn.Module):
    """Words and positions, layers with pre-norm residuals, an answer at the last place.

    Args:
        layers: Each keeps the shape (B, n, D).
        d_model: Width D.
    """

    def __init__(self, layers: list[nn.Module], d_model: int):
        super().__init__()
        self.embedding = nn.Embedding(TASK_VOCAB_SIZE, d_model)
        self.positions = SinusoidalPositions(d_model)
        self.layers = nn.ModuleList(layers)
        self.add = nn.ModuleList(Residual(d_model, norm_first=True) for _ in layers)
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, TASK_VOCAB_SIZE)

    def forward(self, ids: Tensor) -> Tensor:
        """Read ids, (B, n); return logits, (B, 1, V)."""
        x = self.positions(self.embedding(ids))  # (B, n, D)
        for layer, add in zip(self.layers, self.add, strict=True):
            x = add(x, layer)
        return self.out(self.norm(x[:, -1:]))  # (B, 1, V)


def convolutions(d_model: int, dilations: list[int], width: int = 3) -> list[nn.Module]:
    """Convolutions one after the other, each with a ReLU, with He's first weights."""
    layers = []
    for dilation in dilations:
        layer = ConvolutionLayer(d_model, width, dilation)
        nn.init.kaiming_uniform_(layer.conv.weight, nonlinearity="relu")
        layers.append(nn.Sequential(layer, nn.ReLU()))
    return layers


def contiguous(n: int, width: int = 3) -> list[int]:
    """Dilations of as many convolutions as the last of n places needs to see all."""
    return [1] * -(-(n - 1) // (width - 1))


def dilated(n: int, width: int = 3) -> list[int]:
    """The same if each layer's dilation is the width times that of the one before."""
    dilations, seen = [], 1
    while seen < n:
        dilations.append(seen)
        seen *= width
    return dilations


Reader = Callable[[int, int], list[nn.Module]]  # of n and D
READERS: dict[str, Reader] = {
    "self-attention": lambda n, d: [SelfAttentionLayer(d, 2)],
    "dilated": lambda n, d: convolutions(d, dilated(n)),
    "contiguous": lambda n, d: convolutions(d, contiguous(n)),
    "GRU": lambda n, d: [RecurrentLayer(d)],
}
"""Layers for n places of width d, as many as the last place needs to see all."""


def first_symbol(n: int, seed: int, batch_size: int = 32) -> Iterator[tuple]:
    """Batches of n random symbols, (B, n), and the first of them, (B, 1)."""
    g = torch.Generator().manual_seed(seed)
    while True:
        ids = random_symbols(batch_size, n, g)
        yield ids, ids[:, :1]


@torch.no_grad()
def last_position_accuracy(model: nn.Module, batch: tuple[Tensor, Tensor]) -> float:
    """Share of right answers."""
    ids, targets = batch
    return (model(ids).argmax(-1) == targets).float().mean().item()


class WithPrevious(nn.Module):
    """Each place holds its symbol and the one before it; one layer; one answer.

    Args:
        layer: Keeps the shape (B, n, D).
        d_model: Width D; each of the two symbols gets half of it.
    """

    def __init__(self, layer: nn.Module, d_model: int):
        super().__init__()
        self.own = nn.Embedding(TASK_VOCAB_SIZE, d_model // 2)
        self.previous = nn.Embedding(TASK_VOCAB_SIZE, d_model // 2)
        self.layer = layer
        self.out = nn.Linear(d_model, TASK_VOCAB_SIZE)

    def forward(self, ids: Tensor) -> Tensor:
        """Read ids, (B, n); return logits, (B, 1, V)."""
        before = F.pad(ids[:, :-1], (1, 0))  # PAD before the first
        x = torch.cat([self.own(ids), self.previous(before)], -1)  # (B, n, D)
        return self.out(self.layer(x)[:, -1:])


def follower(n: int, seed: int, batch_size: int = 64) -> Iterator[tuple]:
    """Batches whose last symbol stood earlier: say what followed it there.

    The first n - 1 symbols are all different, so there is one place to find.

    Yields:
        Symbols, (B, n), and right answers, (B, 1).

    Raises:
        ValueError: If there are not so many symbols, or too few to ask for one.
    """
    if not 3 <= n <= N_SYMBOLS + 1:
        raise ValueError(f"n is {n}; it must be from 3 to {N_SYMBOLS + 1}")
    g = torch.Generator().manual_seed(seed)
    while True:
        order = torch.rand(batch_size, N_SYMBOLS, generator=g).argsort(
            1
        )  # all different
        ids = torch.cat([order[:, : n - 1], order[:, :1]], 1) + 1  # (B, n)
        asked = torch.randint(n - 2, (batch_size, 1), generator=g)
        ids[:, -1:] = ids.gather(1, asked)
        yield ids, ids.gather(1, asked + 1)
