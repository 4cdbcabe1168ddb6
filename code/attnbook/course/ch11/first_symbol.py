"""What can the last position learn of the first? Models that answer there only."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attnbook.nn.block import Residual
from attnbook.nn.positions import SinusoidalPositions
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
)
from attnbook.toy.tasks import TASK_VOCAB_SIZE, random_symbols


class LastPosition(nn.Module):
    """Embeddings, layers with pre-norm residuals, and an output at the last position.

    Args:
        layers: Each keeps the shape (B, n, D).
        d_model: Width D.
    """

    def __init__(self, layers: list[nn.Module], d_model: int):
        super().__init__()
        self.embedding = nn.Embedding(TASK_VOCAB_SIZE, d_model)
        self.positions = SinusoidalPositions(d_model)
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in layers)
        self.residual = Residual(norm_first=True)
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, TASK_VOCAB_SIZE)

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids, (B, n), to the logits of the last position, (B, 1, V)."""
        x = self.positions(self.embedding(ids))  # (B, n, D)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = self.residual(x, layer, norm)
        return self.out(self.norm(x[:, -1:]))  # (B, 1, V)


def convolutions(d_model: int, dilations: list[int]) -> list[nn.Module]:
    """Convolutions of width 3, each followed by a ReLU, with He initialisation."""
    layers = []
    for dilation in dilations:
        layer = ConvolutionLayer(d_model, 3, dilation)
        nn.init.kaiming_uniform_(layer.conv.weight, nonlinearity="relu")
        layers.append(nn.Sequential(layer, nn.ReLU()))
    return layers


def contiguous_dilations(n: int) -> list[int]:
    """Dilations (all 1) of as many convolutions as give a receptive field of n."""
    return [1] * (n // 2)


def exponential_dilations(n: int) -> list[int]:
    """The same with dilations 1, 3, 9, …: fewer layers suffice."""
    dilations, receptive_field = [], 1
    while receptive_field < n:
        dilations.append(receptive_field)
        receptive_field *= 3
    return dilations


MakeLayers = Callable[[int, int], list[nn.Module]]  # of n and D
LAYER_STACKS: dict[str, MakeLayers] = {
    "self-attention": lambda n, d: [SelfAttentionLayer(d, 2)],
    "dilated": lambda n, d: convolutions(d, exponential_dilations(n)),
    "contiguous": lambda n, d: convolutions(d, contiguous_dilations(n)),
    "GRU": lambda n, d: [RecurrentLayer(d)],
}
"""Layers of width d, as many as the last of n positions needs to see all of them."""


def first_symbol_batches(n: int, seed: int, batch_size: int = 32) -> Iterator[tuple]:
    """Endless batches of n random symbols, (B, n), and the first of them, (B, 1)."""
    g = torch.Generator().manual_seed(seed)
    while True:
        ids = random_symbols(batch_size, n, g)
        yield ids, ids[:, :1]
