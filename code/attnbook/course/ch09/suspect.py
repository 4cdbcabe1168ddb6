"""The suspect: a small Transformer with planted bugs, and two tasks to try it on."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from attnbook.analysis.bug_zoo import SoftmaxInside, scale_wrongly, split_wrongly
from attnbook.core.vocabulary import BOS, UNK
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.tasks import N_SYMBOLS, random_symbols

LENGTH = 8
SUSPECT = ("heads", "scale")
"""The bugs of the suspect."""

Batch = tuple[Tensor, Tensor, Tensor]


def planted(bugs: Iterable[str] = SUSPECT, seed: int = 0) -> Transformer:
    """Create a small post-norm Transformer with some bugs.

    Args:
        bugs: Of "heads", "scale" and "softmax"; "none" plants nothing. By default those
            of the suspect.
        seed: Of the initial weights.
    """
    torch.manual_seed(seed)
    config = TransformerConfig(
        UNK + N_SYMBOLS, d_model=64, n_heads=4, n_layers=2, d_ff=128, dropout=0.0
    )
    model = Transformer(config)
    if "heads" in bugs:
        split_wrongly(model)
    if "scale" in bugs:
        scale_wrongly(model)
    if "softmax" in bugs:
        model.out = SoftmaxInside(model.out)
    return model


def reversals(seed: int, batch_size: int = 64) -> Iterator[Batch]:
    """Endless batches: source, target shifted right by one, target; (B, T) each."""
    for src in sources(seed, batch_size):
        yield src, *shifted(src.flip(1))


def copies(seed: int, batch_size: int = 64) -> Iterator[Batch]:
    """The same sources, but each is its own target."""
    for src in sources(seed, batch_size):
        yield src, *shifted(src)


def sources(seed: int, batch_size: int) -> Iterator[Tensor]:
    """Endless batches of random symbols, with ids from UNK on; (B, T)."""
    g = torch.Generator().manual_seed(seed)
    while True:
        yield random_symbols(batch_size, LENGTH, g) + UNK - 1


def shifted(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """A target shifted right by one, and itself; (B, T) each."""
    bos = torch.full_like(tgt[:, :1], BOS)
    return torch.cat([bos, tgt[:, :-1]], dim=1), tgt


@torch.no_grad()
def accuracy(model: nn.Module, batch: Batch) -> float:
    """Share of the symbols that get the largest output, under teacher forcing."""
    *inputs, targets = batch
    return (model(*inputs).argmax(-1) == targets).float().mean().item()
