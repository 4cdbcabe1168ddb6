"""What one attention can learn, by number of heads, split of heads and positions."""

from __future__ import annotations

from itertools import product

import torch

from attnbook.toy.task_models import POSITION_KINDS, OneLayer, one_layer
from attnbook.toy.tasks import (
    previous_symbols,
    random_symbols,
    task_accuracy,
)
from experiments.ch05 import accuracy_by_position, train_task_model
from experiments.registry import experiment

LEARNING_RATE = 4e-3
SEEDS = (0, 1, 2, 3, 4)
LENGTH = 12  # in training
N_SEQUENCES = 2000  # in tests


@experiment
def positions() -> dict:
    """Predict the last two symbols with five kinds of positions, within and beyond.

    Trained at length 12, tested at 24: a learned table has 24 rows, of which training
    uses 12, and a relative bias has a number for all 23 distances.
    """
    runs = []
    for kind, steps, seed in product(POSITION_KINDS, (400, 1500), SEEDS):
        torch.manual_seed(seed)
        model = one_layer(kind, max_len=2 * LENGTH)
        train_task_model(model, previous_symbols, LENGTH, steps, seed)
        within = accuracy_by_position(model, previous_symbols, LENGTH)
        beyond = accuracy_by_position(model, previous_symbols, 2 * LENGTH)
        about = {"positions": kind, "steps": steps, "seed": seed}
        runs.append({**about, "right_at_12": within, "right_at_24": beyond})
        print(f"  {about}: {beyond[LENGTH - 1]} … {beyond[-1]}", flush=True)
    return {"length": LENGTH, "runs": runs}


@experiment
def positions_farther() -> dict:
    """Length extrapolation of the relative kinds: trained at 12, tested up to 192."""
    lengths, runs = (24, 48, 96, 192), []
    for kind, seed in product(("relative", "rotary"), SEEDS):
        torch.manual_seed(seed)
        model = one_layer(kind, max_len=lengths[-1])
        train_task_model(model, previous_symbols, LENGTH, 1500, seed)
        accuracy = [second_half_accuracy(model, n) for n in lengths]
        runs.append({"positions": kind, "seed": seed, "right": accuracy})
        print(f"  {runs[-1]}", flush=True)
    return {"trained": LENGTH, "lengths": lengths, "runs": runs}


@experiment
def positions_farther_clamped() -> dict:
    """The relative bias of ``positions_farther``, with untrained distances clamped."""
    lengths, runs = (24, 48, 96, 192), []
    for seed in SEEDS[:3]:
        torch.manual_seed(seed)
        model = one_layer("relative", max_len=lengths[-1])
        train_task_model(model, previous_symbols, LENGTH, 1500, seed)
        clamp_untrained(model.attention.relative.table)
        accuracy = [second_half_accuracy(model, n) for n in lengths]
        runs.append({"seed": seed, "right": accuracy})
        print(f"  {runs[-1]}", flush=True)
    return {"trained": LENGTH, "lengths": lengths, "runs": runs}


@torch.no_grad()
def clamp_untrained(biases: torch.Tensor) -> None:
    """Give untrained distances the last trained bias on their side, in place.

    Distance +11 is untrained, too: only position 0 has it, which has no answer.

    Args:
        biases: (H, 2d + 1), of distances from -d to d.
    """
    middle, farthest = biases.shape[1] // 2, LENGTH - 1
    first, last = middle - farthest, middle + farthest - 1
    biases[:, :first] = biases[:, first : first + 1]
    biases[:, last + 1 :] = biases[:, last : last + 1]


def second_half_accuracy(model: OneLayer, length: int) -> float:
    """Accuracy in the second half of 400 sequences."""
    ids = random_symbols(400, length, torch.Generator().manual_seed(99))
    accuracy = task_accuracy(model, previous_symbols(ids))  # (L, K)
    return round(accuracy[length // 2 :].mean().item(), 4)
