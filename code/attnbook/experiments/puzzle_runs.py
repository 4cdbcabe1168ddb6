"""What one attention can learn: by number of heads, by split, by kind of positions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import isnan

import torch

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions
from attnbook.toy.single_attention import POSITION_KINDS, OneLayer, one_layer
from attnbook.toy.tasks import (
    TaskBatch,
    previous_symbols,
    random_symbols,
    reversed_symbols,
    task_accuracy,
    task_batches,
)
from attnbook.toy.training import fit

RATE = 4e-3
SEEDS = (0, 1, 2, 3, 4)
LENGTH = 12  # in training
TESTED = 2000  # sequences


def learn(
    model: OneLayer,
    make: Callable[[torch.Tensor], TaskBatch],
    length: int,
    steps: int,
    seed: int,
) -> OneLayer:
    """Train a model on a puzzle, and give it back."""
    fit(model, task_batches(make, length, seed), steps, RATE)
    return model


def share_right(
    model: OneLayer, make: Callable[[torch.Tensor], TaskBatch], length: int
) -> list[list[float | None]]:
    """Share of right answers at each of L places, to each of K questions.

    None where no answer counts.
    """
    ids = random_symbols(TESTED, length, torch.Generator().manual_seed(99))
    places = task_accuracy(model, make(ids)).tolist()
    return [[None if isnan(x) else round(x, 4) for x in row] for row in places]


def heads() -> dict:
    """Say the last symbol and the one before it, with 1, 2, 4 and 8 heads.

    Returns:
        "runs": for each number of heads and seed the share of right answers to the
        two questions, over all places at which they count.
    """
    steps, runs = 400, []
    for n_heads, seed in product((1, 2, 4, 8), SEEDS):
        torch.manual_seed(seed)
        model = one_layer("learned", LENGTH, n_heads=n_heads)
        learn(model, previous_symbols, LENGTH, steps, seed)
        right = share_right(model, previous_symbols, LENGTH)
        last = sum(row[0] for row in right[1:]) / (LENGTH - 1)
        before = sum(row[1] for row in right[2:]) / (LENGTH - 2)
        found = {"last": round(last, 4), "before": round(before, 4)}
        runs.append({"heads": n_heads, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "length": LENGTH, "runs": runs}


def wrong_split() -> dict:
    """Say a sequence backwards, with heads split rightly and wrongly.

    Returns:
        "runs": for each split, length and seed the share of "right" answers at each
        place.
    """
    kinds = {"right": MultiHeadAttention, "wrong": WrongSplit}
    steps, runs = 400, []
    for split, length, seed in product(kinds, (8, 16), SEEDS):
        torch.manual_seed(seed)
        model = OneLayer(kinds[split](64, 8), LearnedPositions(length, 64))
        learn(model, reversed_symbols, length, steps, seed)
        right = [row[0] for row in share_right(model, reversed_symbols, length)]
        runs.append({"split": split, "length": length, "seed": seed, "right": right})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "heads": 8, "runs": runs}


def positions() -> dict:
    """Say the last two symbols with five kinds of positions, inside and beyond.

    Trained at 12 places, tested at 24: a learned table has 24 rows, of which training
    touches 12, and a relative bias has a number for all 23 distances.

    Returns:
        "runs": for each kind, number of steps and seed the share of "right" answers
        at each of the 24 places to the two questions; None where none counts.
    """
    runs = []
    for kind, steps, seed in product(POSITION_KINDS, (400, 1500), SEEDS):
        torch.manual_seed(seed)
        model = one_layer(kind, max_len=2 * LENGTH)
        learn(model, previous_symbols, LENGTH, steps, seed)
        inside = share_right(model, previous_symbols, LENGTH)
        both = share_right(model, previous_symbols, 2 * LENGTH)
        about = {"positions": kind, "steps": steps, "seed": seed}
        runs.append({**about, "right_at_12": inside, "right_at_24": both})
        print(f"  {about}: {both[LENGTH - 1]} … {both[-1]}", flush=True)
    return {"length": LENGTH, "runs": runs}


def positions_farther() -> dict:
    """How far do the relative kinds go? Trained at 12 places, tested up to 192.

    Returns:
        "lengths": of the tested sequences; "runs": for each kind and seed the share of
        "right" answers in the second half of each.
    """
    lengths, runs = (24, 48, 96, 192), []
    for kind, seed in product(("relative", "rotary"), SEEDS):
        torch.manual_seed(seed)
        model = one_layer(kind, max_len=lengths[-1])
        learn(model, previous_symbols, LENGTH, 1500, seed)
        right = [second_half(model, n) for n in lengths]
        runs.append({"positions": kind, "seed": seed, "right": right})
        print(f"  {runs[-1]}", flush=True)
    return {"trained": LENGTH, "lengths": lengths, "runs": runs}


def second_half(model: OneLayer, length: int) -> float:
    """Share of right answers in the second half of 400 sequences."""
    ids = random_symbols(400, length, torch.Generator().manual_seed(99))
    right = task_accuracy(model, previous_symbols(ids))  # (L, K)
    return round(right[length // 2 :].mean().item(), 4)
