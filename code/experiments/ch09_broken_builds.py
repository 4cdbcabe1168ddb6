"""Does a Transformer learn with bugs in it? Reversal of eight symbols, and copying."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product, repeat

import torch
from torch import nn

from attnbook.course.ch09.suspect import Batch, accuracy, copies, planted, reversals
from attnbook.nn.losses import token_loss
from attnbook.toy.training import fit
from experiments.registry import experiment

STEPS, LEARNING_RATE = 300, 2e-3
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


def new_sequences(task: Callable[[int, int], Iterator[Batch]]) -> Batch:
    """1,000 sequences of a task, none of them meant for training."""
    return next(task(99, 1000))


@torch.no_grad()
def evaluate_reversal(model: nn.Module) -> dict[str, float]:
    """Loss and accuracy ("right") under teacher forcing on new sequences."""
    *inputs, targets = batch = new_sequences(reversals)
    loss = token_loss(model(*inputs), targets).item()
    return {"loss": round(loss, 4), "right": round(accuracy(model, batch), 4)}


@experiment
def broken_builds() -> dict:
    """Train each of :data:`BUILDS` with several seeds."""
    runs = []
    for name, seed in product(BUILDS, SEEDS):
        model = planted(BUILDS[name], seed)
        fit(model, reversals(seed), STEPS, LEARNING_RATE)
        runs.append({"build": name, "seed": seed, **evaluate_reversal(model)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "length": 8, "runs": runs}


@experiment
def suspect_tests() -> dict:
    """Test the suspect: copying, one batch of eight sequences, and more training."""
    runs = []
    for seed in SEEDS:
        copying, one_batch, longer = (planted(seed=seed) for _ in range(3))
        fit(copying, copies(seed), STEPS, LEARNING_RATE)
        batch = next(reversals(seed, 8))
        fit(one_batch, repeat(batch), STEPS, LEARNING_RATE)
        fit(longer, reversals(seed), 5 * STEPS, LEARNING_RATE)
        found = {
            "copying": accuracy(copying, new_sequences(copies)),
            "one_batch": accuracy(one_batch, batch),
            "one_batch_new": accuracy(one_batch, new_sequences(reversals)),
            "longer": accuracy(longer, new_sequences(reversals)),
        }
        runs.append({"seed": seed, **{k: round(x, 4) for k, x in found.items()}})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "longer": 5 * STEPS, "rate": LEARNING_RATE, "runs": runs}


@experiment
def sixteen_heads() -> dict:
    """Train models of sixteen heads with the right and with the wrong scale."""
    runs = []
    for bugs, seed in product(((), ("scale",)), SEEDS):
        model = planted(bugs, seed, n_heads=16)
        fit(model, reversals(seed), STEPS, LEARNING_RATE)
        runs.append({"bugs": [*bugs], "seed": seed, **evaluate_reversal(model)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "heads": 16, "runs": runs}


@experiment
def broken_builds_longer() -> dict:
    """Train the builds that learn, but slowly, for three times as long."""
    runs = []
    for (bug, n_heads), seed in product((("softmax", 4), ("scale", 16)), SEEDS):
        model = planted([bug], seed, n_heads)
        fit(model, reversals(seed), 3 * STEPS, LEARNING_RATE)
        found = {"bug": bug, "heads": n_heads, "seed": seed}
        runs.append({**found, **evaluate_reversal(model)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": 3 * STEPS, "rate": LEARNING_RATE, "runs": runs}


@experiment
def suspect_sevens() -> dict:
    """Train the suspect on reversals of seven symbols, which its heads don't divide."""
    runs = []
    for seed in SEEDS:
        model = planted(seed=seed)
        fit(model, reversals(seed, length=7), 2 * STEPS, LEARNING_RATE)
        new = next(reversals(99, 1000, length=7))
        runs.append({"seed": seed, "right": round(accuracy(model, new), 4)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": 2 * STEPS, "rate": LEARNING_RATE, "length": 7, "runs": runs}
