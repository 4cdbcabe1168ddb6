"""The XOR of two bits, read by a question token through a single attention layer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attnbook.core.checks import check_sizes
from attnbook.core.divergence import check_finite
from attnbook.nn.layers import FeedForward
from attnbook.nn.multi_head import MultiHeadAttention

QUESTION = 2  # the ids 0 and 1 are the bits
PAIRS = torch.tensor([[QUESTION, a, b] for a in (0, 1) for b in (0, 1)])
"""The four sequences, a question token and two bits each (4, 3)."""
XOR = torch.tensor([0, 1, 1, 0])
"""Whether the two bits of each sequence differ, (4,)."""

D = 16
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "none": nn.Identity,
    "linear": lambda: nn.Sequential(nn.Linear(D, 4 * D), nn.Linear(4 * D, D)),
    "ReLU": lambda: FeedForward(D, 4 * D),
}
"""What may follow the attention – the identity, which with the residual doubles what it
gets, two linear maps, or the whole network."""


class PairReader(nn.Module):
    """One attention layer and one network, both with residuals, and no norm.

    Args:
        network: Maps (B, 3, D) to (B, 3, D); its result is added to its input.
        n_heads: Number of heads.
        equal_weights: Whether every query gives all keys the same weight: the queries
            stay 0.
    """

    def __init__(
        self, network: nn.Module, n_heads: int = 1, equal_weights: bool = False
    ):
        super().__init__()
        self.embedding = nn.Embedding(3, D)
        self.positions = nn.Embedding(3, D)
        self.attention = MultiHeadAttention(D, n_heads)
        self.network = network
        self.out = nn.Linear(D, 2)
        if equal_weights:
            for parameter in self.attention.W_Q.parameters():
                nn.init.zeros_(parameter).requires_grad_(False)

    def forward(self, ids: Tensor) -> Tensor:
        """Compute the logits at the question: (B, 3) to (B, 2)."""
        x = self.embedding(ids) + self.positions.weight  # (B, 3, D)
        x = x + self.attention(x, x, x)
        x = x + self.network(x)
        return self.out(x[:, 0])


def train_on_pairs(
    model: nn.Module, steps: int, learning_rate: float
) -> tuple[float, int]:
    """Train with Adam on all four sequences in each step.

    Args:
        model: Maps :data:`PAIRS` to logits, (4, 2).
        steps: Number of updates, at least 1.
        learning_rate: Of all of them.

    Returns:
        The loss in nats after the last update, and how many of the four answers are
        right.
    """
    check_sizes(steps=steps)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=learning_rate)
    for _ in range(steps):
        loss = cross_entropy(model(PAIRS), XOR)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        logits = model(PAIRS)  # (4, 2)
    check_finite(logits)
    right = (logits.argmax(-1) == XOR).sum().item()
    return cross_entropy(logits, XOR).item(), int(right)
