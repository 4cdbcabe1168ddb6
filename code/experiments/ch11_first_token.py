"""Recall of the first symbol at the last position, by kind of layer and length."""

from __future__ import annotations

from itertools import product

import torch
from torch import nn

from attnbook.toy.last_position import (
    LAYER_STACKS,
    LastPosition,
    MakeLayers,
    contiguous_dilations,
    convolutions,
    first_symbol_batches,
    last_position_accuracy,
)
from attnbook.toy.training import fit
from experiments.registry import experiment

LENGTHS = (8, 16, 32, 64)
SEEDS = (0, 1, 2)
STEPS, LEARNING_RATE, WIDTH = 500, 3e-3, 32


@experiment
def first_token() -> dict:
    """Train each kind of layer at each length, and test it on 2,000 new sequences.

    Returns:
        "runs": for each kind, length and seed the number of "layers", the accuracy
        ("right"), and the "loss", averaged over every 20 steps.
    """
    runs = []
    for n, kind, seed in product(LENGTHS, LAYER_STACKS, SEEDS):
        found = train_last_position(LAYER_STACKS[kind], n, seed)
        runs.append({"kind": kind, "n": n, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "d": WIDTH, "runs": runs}


@experiment
def first_token_longer() -> dict:
    """The same with four times the steps, for the two kinds with long paths."""
    steps, runs = 4 * STEPS, []
    for n, kind, seed in product((8, 16), ("contiguous", "GRU"), SEEDS):
        found = train_last_position(LAYER_STACKS[kind], n, seed, steps)
        runs.append({"kind": kind, "n": n, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "rate": LEARNING_RATE, "d": WIDTH, "runs": runs}


@experiment
def first_token_room() -> dict:
    """Contiguous convolutions with half as many layers again as they need.

    With just enough layers, the first symbol is at the edge of the receptive field, and
    few paths lead from it to the output.
    """
    runs = []
    for n, seed in product((8, 16), SEEDS):
        found = train_last_position(with_extra_layers, n, seed)
        runs.append({"kind": "contiguous", "n": n, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "d": WIDTH, "runs": runs}


def with_extra_layers(n: int, d_model: int) -> list[nn.Module]:
    """Half as many contiguous convolutions again as a receptive field of n needs."""
    return convolutions(d_model, [1] * (3 * len(contiguous_dilations(n)) // 2))


def train_last_position(
    make_layers: MakeLayers, n: int, seed: int, steps: int = STEPS
) -> dict:
    """Train one model, and return its number of layers, accuracy and loss."""
    torch.manual_seed(seed)
    model = LastPosition(make_layers(n, WIDTH), WIDTH)
    losses = fit(model, first_symbol_batches(n, seed), steps, LEARNING_RATE)
    test = next(first_symbol_batches(n, seed=99, batch_size=2000))
    return {
        "layers": len(model.layers),
        "right": round(last_position_accuracy(model, test), 4),
        "loss": [round(sum(losses[i : i + 20]) / 20, 3) for i in range(0, steps, 20)],
    }
