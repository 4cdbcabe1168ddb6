"""What layers without positions know about the order of symbols."""

from __future__ import annotations

from collections import Counter
from functools import partial

import torch
from torch import Tensor, nn

from attnbook.course.kit.toy_translation import THREE_SEEDS
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    previous_symbols,
    random_symbols,
    task_batches,
)
from attnbook.toy.training import fit
from experiments.registry import experiment

LENGTH, STEPS, RATE, BACK = 12, 800, 4e-3, (1, 2)
MODELS = {
    "causal, two layers": (True, 2, False),
    "causal, one layer": (True, 1, False),
    "full, two layers": (False, 2, False),
    "causal, two layers, with positions": (True, 2, True),
}
"""Whether the mask is causal, the number of layers, whether positions are learned."""


class Recall(nn.Module):
    """Attention layers, each added to what it reads, and K answers a position."""

    def __init__(self, *, causal: bool, n_layers: int, positions: bool, d: int = 64):
        super().__init__()
        self.embedding = nn.Embedding(TASK_VOCAB_SIZE, d)
        self.positions = nn.Embedding(LENGTH, d) if positions else None
        self.layers = nn.ModuleList(MultiHeadAttention(d, 2) for _ in range(n_layers))
        self.out = nn.Linear(d, len(BACK) * TASK_VOCAB_SIZE)
        self.mask = causal_mask(LENGTH) if causal else None

    def forward(self, ids: Tensor) -> Tensor:
        """Map symbols, (B, L), to logits, (B, L, K, V)."""
        x = self.embedding(ids)  # (B, L, D)
        if self.positions is not None:
            x = x + self.positions.weight
        for layer in self.layers:
            x = x + layer(x, x, x, self.mask)
        return self.out(x).unflatten(-1, (len(BACK), -1))


@experiment
def order_without_positions() -> dict:
    """Train on the symbols one and two back, with three seeds for each model.

    Returns:
        "runs": for each model and seed the share of right answers at positions 3 to 12
        of 512 new sequences, for one and two back; "bag": the share of who knows which
        symbols a position can attend to, but not their order, with a causal mask and
        without.
    """
    runs = []
    for name, (causal, n_layers, positions) in MODELS.items():
        for seed in THREE_SEEDS:
            torch.manual_seed(seed)
            model = Recall(causal=causal, n_layers=n_layers, positions=positions)
            task = partial(previous_symbols, back=BACK)
            fit(model, task_batches(task, LENGTH, seed), STEPS, RATE)
            runs.append({"model": name, "seed": seed, "right": measure(model)})
            print(f"  {runs[-1]}", flush=True)
    bag = {"causal": bag_guess(causal=True), "full": bag_guess(causal=False)}
    return {"length": LENGTH, "steps": STEPS, "rate": RATE, "bag": bag, "runs": runs}


def bag_guess(*, causal: bool, number: int = 5000) -> float:
    """Share of right answers of who names the most frequent of the other symbols."""
    g = torch.Generator().manual_seed(0)
    odds = []
    for row in random_symbols(number, LENGTH, g).tolist():
        for t in range(max(BACK), LENGTH):
            others = row[:t] if causal else row[:t] + row[t + 1 :]
            odds.append(Counter(others).most_common(1)[0][1] / len(others))
    return round(sum(odds) / len(odds), 4)


@torch.no_grad()
def measure(model: nn.Module) -> list[float]:
    """Share of right answers at positions where both count: one back, two back."""
    g = torch.Generator().manual_seed(12345)
    ids, targets = previous_symbols(random_symbols(512, LENGTH, g), BACK)
    right = (model(ids).argmax(-1) == targets)[:, max(BACK) :]  # (B, L - 2, K)
    return [round(share, 4) for share in right.float().mean((0, 1)).tolist()]
