"""A task for recurrent networks: name the first and last symbol of a sequence."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SYMBOLS = 16


class Recall(nn.Module):
    """Reads symbols one by one, then says the first and the last from its last state.

    Args:
        kind: "rnn", a plain tanh RNN, or "gru".
        d_hidden: Width of the state.
    """

    def __init__(self, kind: str, d_hidden: int = 64):
        super().__init__()
        units = {"rnn": nn.RNN, "gru": nn.GRU}
        if kind not in units:
            raise ValueError(f"kind is {kind!r}; choose 'rnn' or 'gru'")
        self.embedding = nn.Embedding(SYMBOLS, 32)
        self.reader = units[kind](32, d_hidden, batch_first=True)
        self.first = nn.Linear(d_hidden, SYMBOLS)
        self.last = nn.Linear(d_hidden, SYMBOLS)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Read symbols, (B, L); return logits of first and last, (B, 16) each."""
        _, h = self.reader(self.embedding(x))
        return self.first(h[0]), self.last(h[0])


def recall(kind: str, lengths: Sequence[int], steps: int, seed: int) -> list[dict]:
    """Train a :class:`Recall` on random sequences, and test it on fresh ones.

    Args:
        kind: "rnn" or "gru".
        lengths: Symbols a sequence; each batch takes one of these lengths at random.
        steps: Batches of 64.
        seed: Decides weights and sequences.

    Returns:
        For each length the share of 2,000 sequences whose "first" and "last" symbol was
        said rightly; by chance 1/16.
    """
    torch.manual_seed(seed)
    model = Recall(kind)
    g, rng = torch.Generator().manual_seed(seed), random.Random(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x = torch.randint(SYMBOLS, (64, rng.choice(lengths)), generator=g)  # (64, L)
        first, last = model(x)
        loss = F.cross_entropy(first, x[:, 0]) + F.cross_entropy(last, x[:, -1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return [{"length": length, **_test(model, length, g)} for length in lengths]


@torch.no_grad()
def _test(model: Recall, length: int, g: torch.Generator) -> dict:
    x = torch.randint(SYMBOLS, (2000, length), generator=g)  # (2000, L)
    first, last = (logits.argmax(-1) for logits in model(x))
    return {
        "first": round((first == x[:, 0]).float().mean().item(), 4),
        "last": round((last == x[:, -1]).float().mean().item(), 4),
    }
