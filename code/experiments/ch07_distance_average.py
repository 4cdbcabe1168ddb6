"""What has a layer with added position vectors learned? Its scores by distance."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from attnbook.nn.multi_head import split_heads
from attnbook.nn.relative import relative_distances
from attnbook.toy.task_models import OneLayer, one_layer
from attnbook.toy.tasks import previous_symbols, random_symbols, task_accuracy
from experiments.ch07_task_runs import (
    LENGTH,
    SEEDS,
    train_task_model,
)
from experiments.registry import experiment


def position_scores(model: OneLayer, t: int) -> Tensor:
    """The part of the scores that the vectors of t positions make: (H, t, t)."""
    attention = model.attention
    vectors = model.positions(torch.zeros(1, t, attention.d_model))  # (1, t, D)
    q, k = (
        split_heads(linear(vectors), attention.n_heads)  # (1, H, t, d_k)
        for linear in (attention.W_Q, attention.W_K)
    )
    return (q @ k.mT)[0] / math.sqrt(q.shape[-1])


def distance_means(scores: Tensor) -> Tensor:
    """Means of (H, t, t) over pairs of equal distance, from -(t - 1): (H, 2t - 1)."""
    t = scores.shape[-1]
    return torch.stack(
        [scores.diagonal(k, -2, -1).mean(-1) for k in range(1 - t, t)], -1
    )


def by_distance(means: Tensor, t: int) -> Tensor:
    """Scores for t positions from means by distance, clamped at the ends: (H, t, t)."""
    farthest = means.shape[-1] // 2
    distances = relative_distances(t, t).clamp(-farthest, farthest)
    return means[:, distances + farthest]


def shuffled(scores: Tensor) -> Tensor:
    """The same scores, (H, t, t), dealt out to pairs of positions at random."""
    g = torch.Generator().manual_seed(0)
    flat = scores.flatten(1)
    return flat[:, torch.randperm(flat.shape[1], generator=g)].view_as(scores)


@torch.no_grad()
def right(model: OneLayer, length: int, means: Tensor | None, hide: bool) -> float:
    """Accuracy in the second half of 400 sequences; see the experiment."""
    own = position_scores(model, length)
    bias = None if means is None else (by_distance(means, length) - own)[None]
    mask = relative_distances(length, length).abs() < LENGTH if hide else None

    def changed(ids: Tensor) -> Tensor:
        x = model.positions(model.embedding(ids))
        return model.answers(model.attention(x, x, x, mask, score_bias=bias))

    ids = random_symbols(400, length, torch.Generator().manual_seed(99))
    found = task_accuracy(changed, previous_symbols(ids))  # (L, K)
    return round(found[length // 2 :].mean().item(), 4)


@torch.no_grad()
def explained(scores: Tensor) -> float:
    """Share of the variance of (H, t, t) that the distance explains."""
    kept = by_distance(distance_means(scores), scores.shape[-1])
    rest = (scores - kept).var((-2, -1)) / scores.var((-2, -1))  # (H,)
    return round(1 - rest.mean().item(), 4)


def averaged(kind: str, lengths: tuple[int, ...]) -> dict:
    """Replace trained positional scores by their averages over equal distances.

    The models add position vectors of a kind and were trained on 12 symbols. Nothing is
    trained anew.

    Returns:
        "runs": for each seed and change the accuracy in the second half of sequences
        of each of the "lengths". "nothing"; "averages": each positional score is the
        mean over the trained pairs at its distance, or at the largest trained one;
        "hidden": keys at untrained distances are hidden; "random": the averages are
        over pairs picked at random. "explained": for each seed the share of the
        scores' variance that the distance explains, before and after training.
    """
    runs, shares = [], []
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = one_layer(kind, max_len=lengths[-1])
        with torch.no_grad():
            before = explained(position_scores(model, LENGTH))
        train_task_model(model, previous_symbols, LENGTH, 1500, seed)
        with torch.no_grad():
            scores = position_scores(model, LENGTH)
        changes = {
            "nothing": (None, False),
            "averages": (distance_means(scores), False),
            "hidden": (None, True),
            "random": (distance_means(shuffled(scores)), False),
        }
        for name, change in changes.items():
            found = [right(model, n, *change) for n in lengths]
            runs.append({"change": name, "seed": seed, "right": found})
            print(f"  {runs[-1]}", flush=True)
        shares.append({"seed": seed, "before": before, "after": explained(scores)})
        print(f"  {shares[-1]}", flush=True)
    return {"trained": LENGTH, "lengths": lengths, "explained": shares, "runs": runs}


experiment(partial(averaged, "sinusoidal", (24, 48, 96, 192)), "averaged_by_distance")
experiment(partial(averaged, "learned", (24,)), "learned_averaged_by_distance")
