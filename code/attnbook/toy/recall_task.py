"""A memory task for recurrent networks: recall the first and last symbol read."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.divergence import check_finite

RECALL_SYMBOLS = 16


class RecallModel(nn.Module):
    """Reads symbols, then predicts the first and the last from its final state.

    Args:
        kind: "rnn", a plain tanh RNN, or "gru".
        d_hidden: Width of the hidden state.
    """

    def __init__(self, kind: str, d_hidden: int = 64):
        super().__init__()
        units = {"rnn": nn.RNN, "gru": nn.GRU}
        if kind not in units:
            raise ValueError(f"kind is {kind!r}; choose 'rnn' or 'gru'")
        self.embedding = nn.Embedding(RECALL_SYMBOLS, 32)
        self.rnn = units[kind](32, d_hidden, batch_first=True)
        self.first = nn.Linear(d_hidden, RECALL_SYMBOLS)
        self.last = nn.Linear(d_hidden, RECALL_SYMBOLS)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map symbols, (B, L), to the logits of first and last, (B, 16) each."""
        _, h = self.rnn(self.embedding(x))
        return self.first(h[0]), self.last(h[0])


def train_recall(
    kind: str, lengths: Sequence[int], steps: int, seed: int
) -> list[dict]:
    """Train a :class:`RecallModel` on random sequences, and test it on new ones.

    Args:
        kind: "rnn" or "gru".
        lengths: Sequence lengths; each batch has one of them, chosen at random.
        steps: Number of batches of 64.
        seed: Seed of weights and sequences.

    Returns:
        For each length, the accuracy on the "first" and the "last" symbol of 2,000
        sequences; guessing gives 1/16.
    """
    torch.manual_seed(seed)
    model = RecallModel(kind)
    g, rng = torch.Generator().manual_seed(seed), random.Random(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x = torch.randint(RECALL_SYMBOLS, (64, rng.choice(lengths)), generator=g)
        first, last = model(x)
        loss = F.cross_entropy(first, x[:, 0]) + F.cross_entropy(last, x[:, -1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    check_finite(model.parameters())
    return [{"length": length, **_test(model, length, g)} for length in lengths]


@torch.no_grad()
def _test(model: RecallModel, length: int, g: torch.Generator) -> dict:
    x = torch.randint(RECALL_SYMBOLS, (2000, length), generator=g)  # (2000, L)
    first, last = (logits.argmax(-1) for logits in model(x))
    return {
        "first": round((first == x[:, 0]).float().mean().item(), 4),
        "last": round((last == x[:, -1]).float().mean().item(), 4),
    }
