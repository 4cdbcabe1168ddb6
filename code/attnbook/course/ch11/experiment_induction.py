"""Induction by kind of layer: which symbol followed the last one before?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import torch
from torch import nn

from attnbook.course.kit.experiments import experiment
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
)
from attnbook.toy.last_position import (
    InductionModel,
    convolutions,
    exponential_dilations,
    induction_batches,
    last_position_accuracy,
)
from attnbook.toy.training import fit

N, WIDTH = 12, 64
SEEDS = (0, 1, 2)
STEPS, LEARNING_RATE = 400, 4e-3

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "self-attention": lambda: SelfAttentionLayer(WIDTH, n_heads=1),
    "convolution": lambda: nn.Sequential(ConvolutionLayer(WIDTH, N), nn.ReLU()),
    "dilated": lambda: nn.Sequential(*convolutions(WIDTH, exponential_dilations(N))),
    "GRU": lambda: RecurrentLayer(WIDTH),
}
"""One layer of each kind, or three dilated convolutions; all see the N positions."""


@experiment
def induction() -> dict:
    """Train each kind of layer, and test it on 2,000 new sequences.

    Returns:
        "runs": for each kind and seed the "accuracy".
    """
    return _train(LAYERS, STEPS)


@experiment
def induction_longer() -> dict:
    """The same with five times the updates, for all kinds but self-attention."""
    return _train([kind for kind in LAYERS if kind != "self-attention"], 5 * STEPS)


def induction_accuracy(kind: str, seed: int, steps: int) -> float:
    """Train one model and test it."""
    torch.manual_seed(seed)
    model = InductionModel(LAYERS[kind](), WIDTH)
    fit(model, induction_batches(N, seed), steps, LEARNING_RATE)
    test = next(induction_batches(N, seed=99, batch_size=2000))
    return round(last_position_accuracy(model, test), 4)


def _train(kinds, steps: int) -> dict:
    runs = []
    for kind, seed in product(kinds, SEEDS):
        accuracy = induction_accuracy(kind, seed, steps)
        runs.append({"kind": kind, "seed": seed, "accuracy": accuracy})
        print(f"  {runs[-1]}", flush=True)
    about = {"n": N, "d": WIDTH, "learning_rate": LEARNING_RATE}
    return {"steps": steps, **about, "runs": runs}
