"""Does a Transformer learn with bugs in it? Reversal of eight symbols."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor, nn

from attnbook.analysis.bug_zoo import SoftmaxInside, scale_wrongly, split_wrongly
from attnbook.core.vocabulary import BOS, UNK
from attnbook.course.kit.experiments import experiment
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.toy.tasks import N_SYMBOLS, random_symbols
from attnbook.toy.training import fit

LENGTH, STEPS, LEARNING_RATE = 8, 300, 2e-3
SEEDS = (0, 1, 2)
BUILDS = {
    "as published": ("softmax", "heads", "scale"),
    "softmax mended": ("heads", "scale"),
    "softmax and heads mended": ("scale",),
    "all mended": (),
    "all but the softmax": ("softmax",),
    "all but the heads": ("heads",),
}
"""The bugs of each build."""


def broken_transformer(bugs: tuple[str, ...]) -> nn.Module:
    """Create a small post-norm Transformer with some bugs."""
    config = TransformerConfig(
        UNK + N_SYMBOLS, d_model=64, n_heads=4, n_layers=2, d_ff=128, dropout=0.0
    )
    model = Transformer(config)
    if "heads" in bugs:
        split_wrongly(model)
    if "scale" in bugs:
        scale_wrongly(model)
    return SoftmaxInside(model) if "softmax" in bugs else model


def reversals(seed: int, batch_size: int = 64) -> Iterator[tuple[Tensor, ...]]:
    """Endless batches: source, target shifted right by one, target; (B, 8) each."""
    g = torch.Generator().manual_seed(seed)
    while True:
        src = random_symbols(batch_size, LENGTH, g) + UNK - 1  # ids from UNK on
        tgt = src.flip(1)
        bos = torch.full((batch_size, 1), BOS)
        yield src, torch.cat([bos, tgt[:, :-1]], dim=1), tgt


@torch.no_grad()
def evaluate_reversal(model: nn.Module) -> dict[str, float]:
    """Loss and accuracy ("right") under teacher forcing on 1,000 new sequences."""
    *inputs, targets = next(reversals(seed=99, batch_size=1000))
    outputs = model(*inputs)  # logits, or probabilities used as such
    accuracy = (outputs.argmax(-1) == targets).float().mean().item()
    loss = token_loss(outputs, targets).item()
    return {"loss": round(loss, 4), "right": round(accuracy, 4)}


@experiment
def broken_builds() -> dict:
    """Train each of :data:`BUILDS` with several seeds."""
    runs = []
    for name, seed in product(BUILDS, SEEDS):
        torch.manual_seed(seed)
        model = broken_transformer(BUILDS[name])
        fit(model, reversals(seed), STEPS, LEARNING_RATE)
        runs.append({"build": name, "seed": seed, **evaluate_reversal(model)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "length": LENGTH, "runs": runs}
