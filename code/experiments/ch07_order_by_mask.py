"""Two layers without positions: which layer's causal mask reveals the order?"""

from __future__ import annotations

from itertools import product

import torch
from torch import Tensor

from attnbook.course.kit.toy_translation import THREE_SEEDS
from experiments.ch06 import (
    BACK,
    RATE,
    STEPS,
    Recall,
    train_recall,
)
from experiments.registry import experiment


class MaskInOne(Recall):
    """Chapter 6's two layers without positions; only one of them has a causal mask."""

    def __init__(self, masked: int):
        super().__init__(causal=True, n_layers=2, positions=False)
        self.masked = masked

    def forward(self, ids: Tensor) -> Tensor:
        """Map symbols, (B, L), to logits, (B, L, K, V)."""
        x = self.embedding(ids)  # (B, L, D)
        for number, layer in enumerate(self.layers, start=1):
            x = x + layer(x, x, x, self.mask if number == self.masked else None)
        return self.out(x).unflatten(-1, (len(BACK), -1))


@experiment
def order_by_mask() -> dict:
    """Train with the causal mask in layer 1 only, and in layer 2 only, three seeds.

    Returns:
        "runs": for each "masked" layer and seed the share of "right" answers, one back
        and two back, as ``order_without_positions`` has them.
    """
    runs = []
    for masked, seed in product((1, 2), THREE_SEEDS):
        torch.manual_seed(seed)
        model = MaskInOne(masked)
        right = train_recall(model, seed)
        runs.append({"masked": masked, "seed": seed, "right": right})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": RATE, "runs": runs}
