"""How well does the last place know the first symbol? By kind of layer and length."""

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

LENGTHS = (8, 16, 32, 64)
SEEDS = (0, 1, 2)
STEPS, RATE, WIDTH = 500, 3e-3, 32


def first_token() -> dict:
    """Train each kind at each length, and test it on 2,000 fresh sequences.

    Returns:
        "runs": for each kind, length and seed the number of "layers", the share
        "right", and the "loss", averaged over every 20 steps.
    """
    runs = []
    for n, kind, seed in product(LENGTHS, LAYER_STACKS, SEEDS):
        found = learn(LAYER_STACKS[kind], n, seed)
        runs.append({"kind": kind, "n": n, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": RATE, "d": WIDTH, "runs": runs}


def first_token_longer() -> dict:
    """The same with four times the steps, for the two whose path is long."""
    steps, runs = 4 * STEPS, []
    for n, kind, seed in product((8, 16), ("contiguous", "GRU"), SEEDS):
        found = learn(LAYER_STACKS[kind], n, seed, steps)
        runs.append({"kind": kind, "n": n, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "rate": RATE, "d": WIDTH, "runs": runs}


def first_token_room() -> dict:
    """Contiguous convolutions with half as many layers again as they need.

    With just enough of them the first symbol stands at the edge of what is seen, and
    few ways lead there.
    """
    runs = []
    for n, seed in product((8, 16), SEEDS):
        found = learn(with_room, n, seed)
        runs.append({"kind": "contiguous", "n": n, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": RATE, "d": WIDTH, "runs": runs}


def with_room(n: int, d_model: int) -> list[nn.Module]:
    """Half as many contiguous convolutions again as the last of n places needs."""
    return convolutions(d_model, [1] * (3 * len(contiguous_dilations(n)) // 2))


def learn(reader: MakeLayers, n: int, seed: int, steps: int = STEPS) -> dict:
    """Train one model, and say how it did."""
    torch.manual_seed(seed)
    model = LastPosition(reader(n, WIDTH), WIDTH)
    losses = fit(model, first_symbol_batches(n, seed), steps, RATE)
    test = next(first_symbol_batches(n, seed=99, batch_size=2000))
    return {
        "layers": len(model.layers),
        "right": round(last_position_accuracy(model, test), 4),
        "loss": [round(sum(losses[i : i + 20]) / 20, 3) for i in range(0, steps, 20)],
    }
