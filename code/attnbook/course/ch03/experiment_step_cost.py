"""The time of one training step with attention before or after the recurrent step."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import quantiles

import torch
from torch import nn

from attnbook.course.kit.experiments import experiment
from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.nn.losses import token_loss
from attnbook.nn.scores import SCORES
from attnbook.toy.data import SOURCE, TARGET, toy_batches

REPEATS = 101
CLAUSES = 4

MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    "bahdanau": Bahdanau,
    **{
        f"{score}{', input feeding' if feeding else ''}": partial(
            Luong, score=score, input_feeding=feeding
        )
        for feeding in (False, True)
        for score in SCORES
    },
}


@experiment
def step_cost(repeats: int = REPEATS) -> dict:
    """Time the forward and backward pass on one batch of 64 sentences, repeatedly.

    The models take turns, so that other load on the machine affects all of them alike.

    Returns:
        "runs": for each model its number of parameters, and the quartiles of its
        processor time in seconds, "low", "median" and "high".
    """
    torch.manual_seed(0)
    models = {name: make(len(SOURCE), len(TARGET)) for name, make in MODELS.items()}
    batch = next(toy_batches(seed=0, clauses=(CLAUSES,)))
    times: dict[str, list[float]] = {name: [] for name in models}
    for repeat in range(1 + repeats):
        for name, model in models.items():
            seconds = one_step(model, batch)
            if repeat:  # the first warms up
                times[name].append(seconds)
        if repeat % 50 == 0:
            print(f"  {repeat} of {repeats}", flush=True)
    runs = []
    for name, model in models.items():
        quartiles = dict(
            zip(("low", "median", "high"), quantiles(times[name], n=4), strict=True)
        )
        runs.append(
            {
                "model": name,
                "parameters": sum(p.numel() for p in model.parameters()),
                **{key: float(f"{seconds:.3g}") for key, seconds in quartiles.items()},
            }
        )
    shape = {"B": len(batch.src), "S": batch.src.shape[1], "T": batch.tgt_in.shape[1]}
    return {"repeats": repeats, **shape, "runs": runs}


def one_step(model: nn.Module, batch: Batch) -> float:
    """Processor time in seconds of one forward and backward pass."""
    model.zero_grad()
    start = time.process_time()
    token_loss(model(batch.src, batch.tgt_in), batch.tgt_out).backward()
    return time.process_time() - start
