"""Does a Transformer learn when parts of it are wrong? Eight symbols, backwards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor, nn

from attnbook.analysis.bug_zoo import SoftmaxInside, scale_wrongly, split_wrongly
from attnbook.core.vocabulary import BOS, UNK
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.toy.tasks import N_SYMBOLS, random_symbols
from attnbook.toy.training import fit

LENGTH, STEPS, RATE = 8, 300, 2e-3
SEEDS = (0, 1, 2)
BUILDS = {
    "as published": ("softmax", "heads", "scale"),
    "softmax mended": ("heads", "scale"),
    "softmax and heads mended": ("scale",),
    "all mended": (),
    "all but the softmax": ("softmax",),
    "all but the heads": ("heads",),
}
"""What is wrong with each build."""


def build(wrong: tuple[str, ...]) -> nn.Module:
    """Make a small Transformer, post-norm as published, with such parts built wrongly.

    Args:
        wrong: Any of "softmax" (inside the model), "heads" (split wrongly), "scale".
    """
    config = TransformerConfig(
        UNK + N_SYMBOLS, d_model=64, n_heads=4, n_layers=2, d_ff=128, dropout=0.0
    )
    model = Transformer(config)
    if "heads" in wrong:
        split_wrongly(model)
    if "scale" in wrong:
        scale_wrongly(model)
    return SoftmaxInside(model) if "softmax" in wrong else model


def reversals(seed: int, batch_size: int = 64) -> Iterator[tuple[Tensor, ...]]:
    """Batches without end: source, target shifted right by one, target; (B, 8) each."""
    g = torch.Generator().manual_seed(seed)
    while True:
        src = random_symbols(batch_size, LENGTH, g) + UNK - 1  # the words from UNK on
        tgt = src.flip(1)
        bos = torch.full((batch_size, 1), BOS)
        yield src, torch.cat([bos, tgt[:, :-1]], dim=1), tgt


@torch.no_grad()
def judge(model: nn.Module) -> dict[str, float]:
    """Loss and share of right words, given those before, on 1,000 new sequences."""
    *inputs, targets = next(reversals(seed=99, batch_size=1000))
    answers = model(*inputs)  # logits, or what the model takes for them
    right = (answers.argmax(-1) == targets).float().mean().item()
    loss = token_loss(answers, targets).item()
    return {"loss": round(loss, 4), "right": round(right, 4)}


def broken_builds() -> dict:
    """Train each of :data:`BUILDS` with several seeds.

    Returns:
        "runs": for each build and seed what :func:`judge` returns.
    """
    runs = []
    for name, seed in product(BUILDS, SEEDS):
        torch.manual_seed(seed)
        model = build(BUILDS[name])
        fit(model, reversals(seed), STEPS, RATE)
        runs.append({"build": name, "seed": seed, **judge(model)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": RATE, "length": LENGTH, "runs": runs}
