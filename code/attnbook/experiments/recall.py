"""How long does a recurrent state remember its first input?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SYMBOLS = 16
LENGTHS = (4, 8, 16, 32)


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


def recall(kind: str, length: int, steps: int, seed: int) -> dict:
    """Train a :class:`Recall` on random sequences of one length, and test it.

    Args:
        kind: "rnn" or "gru".
        length: Symbols a sequence.
        steps: Batches of 64.
        seed: Decides weights and sequences.

    Returns:
        Share of 2,000 fresh sequences whose "first" and "last" symbol was said rightly;
        by chance 1/16.
    """
    torch.manual_seed(seed)
    model = Recall(kind)
    g = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x = torch.randint(SYMBOLS, (64, length), generator=g)  # (64, length)
        first, last = model(x)
        loss = F.cross_entropy(first, x[:, 0]) + F.cross_entropy(last, x[:, -1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        x = torch.randint(SYMBOLS, (2000, length), generator=g)
        first, last = (logits.argmax(-1) for logits in model(x))
    return {
        "kind": kind,
        "length": length,
        "steps": steps,
        "seed": seed,
        "first": round((first == x[:, 0]).float().mean().item(), 4),
        "last": round((last == x[:, -1]).float().mean().item(), 4),
    }


def recall_grid(steps: Sequence[int] = (300, 1500)) -> dict:
    """Both kinds, all lengths, three seeds, short and longer training."""
    runs = []
    for kind in ("rnn", "gru"):
        for n in steps:
            for length in LENGTHS:
                runs += (new := [recall(kind, length, n, seed) for seed in (0, 1, 2)])
                shares = ", ".join(f"{100 * run['first']:.0f}" for run in new)
                print(f"  {kind}, {n} steps, {length}: first {shares} %", flush=True)
    return {"runs": runs}
