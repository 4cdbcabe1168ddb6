"""Which vectors for positions let one layer find the symbols before?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import torch
from torch import Tensor, nn

from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import sinusoids
from attnbook.toy.task_models import OneLayer
from attnbook.toy.tasks import previous_symbols
from experiments.ch07_task_runs import (
    LENGTH,
    SEEDS,
    accuracy_by_position,
    second_half_accuracy,
    train_task_model,
)
from experiments.registry import experiment

STEPS = 400
D = 64

Features = Callable[[Tensor], Tensor]
"""Maps positions, (T,), to their features, (T, k)."""


class MappedFeatures(nn.Module):
    """Adds the features of each position, brought to the model's width by a matrix."""

    def __init__(self, features: Features):
        super().__init__()
        self.features = features
        n = features(torch.arange(2.0)).shape[1]
        self.to_width = nn.Linear(n, D, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add to (B, T, D)."""
        return x + self.to_width(self.features(torch.arange(float(x.shape[1]))))


def clock_hands(n: int) -> Features:
    """Some hands, from one radian per position to ever fewer: sinusoids of 2n."""
    return lambda p: sinusoids(len(p), 2 * n)


def one_hand(speed: float) -> Features:
    """One hand that turns by this angle per position, in radians."""
    return lambda p: torch.stack([(speed * p).sin(), (speed * p).cos()], -1)


def binary(p: Tensor) -> Tensor:
    """The four binary digits of each position, the last one first."""
    return (p[:, None] // 2 ** torch.arange(4)) % 2


def scaled(p: Tensor) -> Tensor:
    """Positions, from -1 to 1 over 12 of them."""
    return (2 * p / (LENGTH - 1) - 1)[:, None]


VECTORS: dict[str, Features] = {
    "p": lambda p: p[:, None],
    "p, from −1 to 1": scaled,
    "p and p²": lambda p: torch.cat([scaled(p), scaled(p) ** 2], -1),
    "binary digits": binary,
    "binary digits, as −1 and 1": lambda p: 2 * binary(p) - 1,
    "one clock hand": clock_hands(1),
    "one hand, half a turn": one_hand(math.pi / (LENGTH - 1)),
}


def train_with(features: Features, length: int, steps: int, seed: int) -> OneLayer:
    """Train a layer with these features."""
    torch.manual_seed(seed)
    model = OneLayer(MultiHeadAttention(D, 2), MappedFeatures(features), n_answers=2)
    return train_task_model(model, previous_symbols, length, steps, seed)


def find_with(features: Features, length: int, seed: int) -> list[list[float | None]]:
    """Accuracy by position of a layer that is trained with these features."""
    model = train_with(features, length, STEPS, seed)
    return accuracy_by_position(model, previous_symbols, length)


@experiment
def position_vectors() -> dict:
    """Predict the last two symbols of 12 with seven kinds of position vectors."""
    runs = []
    for name, seed in product(VECTORS, SEEDS):
        rows = find_with(VECTORS[name], LENGTH, seed)
        runs.append({"vector": name, "seed": seed, "right": mean_accuracy(rows)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "length": LENGTH, "runs": runs}


def mean_accuracy(rows: Sequence[Sequence[float | None]]) -> float:
    """Mean over all answers that count."""
    return round(
        torch.tensor([x for row in rows for x in row if x is not None]).mean().item(), 4
    )


@experiment
def clock_hands_at_48() -> dict:
    """Predict the last two symbols of 48 with one, two and 32 clock hands."""
    length, runs = 48, []
    for hands, seed in product((1, 2, 32), SEEDS[:3]):
        rows = find_with(clock_hands(hands), length, seed)
        about = {"hands": hands, "seed": seed, "mean": mean_accuracy(rows)}
        runs.append({**about, "right": rows})
        print(f"  {about}", flush=True)
    return {"steps": STEPS, "length": length, "runs": runs}


@experiment
def slow_hand_at_48() -> dict:
    """Predict the last two symbols of 48 with one hand: almost a turn in 48 steps."""
    length, speed, runs = 48, 0.128, []
    for seed in SEEDS[:3]:
        rows = find_with(one_hand(speed), length, seed)
        runs.append({"seed": seed, "mean": mean_accuracy(rows)})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "length": length, "speed": speed, "runs": runs}


@experiment
def few_hands_beyond() -> dict:
    """Train on 12 symbols with one clock hand and with 32; test new positions of 24."""
    steps, runs = 1500, []
    for hands, seed in product((1, 32), SEEDS[:3]):
        model = train_with(clock_hands(hands), LENGTH, steps, seed)
        found = second_half_accuracy(model, 2 * LENGTH)
        runs.append({"hands": hands, "seed": seed, "right": found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "trained": LENGTH, "runs": runs}
