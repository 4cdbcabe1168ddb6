"""Two tasks by kind of layer: what followed this symbol before, and a running sum."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product

import torch
from torch import Tensor, nn

from attnbook.core.divergence import check_finite
from attnbook.nn.layers import ScaledEmbedding
from attnbook.nn.losses import token_loss
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
from attnbook.toy.taggers import Tagger, tagger
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    parities,
    random_symbols,
    task_accuracy,
    task_batches,
)
from attnbook.toy.training import fit, train_step
from experiments.registry import experiment

Batch = tuple[Tensor, Tensor]  # ids, (B, n); targets, (B, 1)

N, WIDTH = 12, 64
SEEDS = (0, 1, 2)
STEPS, LEARNING_RATE = 400, 4e-3

LAYERS: dict[str, Callable[[int], nn.Module]] = {
    "self-attention": lambda d: SelfAttentionLayer(d, n_heads=1),
    "convolution": lambda d: nn.Sequential(ConvolutionLayer(d, N), nn.ReLU()),
    "dilated": lambda d: nn.Sequential(*convolutions(d, exponential_dilations(N))),
    "GRU": RecurrentLayer,
}
"""One layer of each kind, or three dilated convolutions; all see the N positions."""

SLOW = (("GRU", 256), ("GRU", 64), ("convolution", 64))
SLOW_STEPS, FIRST_STEPS, EVERY = 6000, 2000, 400

TAGGERS: dict[str, Callable[[], Tagger]] = {
    **{
        kind: lambda make=make: Tagger(
            ScaledEmbedding(TASK_VOCAB_SIZE, WIDTH), [make(WIDTH)]
        )
        for kind, make in LAYERS.items()
    },
    "two encoder layers": lambda: tagger("with", 2),
}
"""The same layers with an output at every position, and two of chapter 8's."""


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


@experiment
def induction_updates() -> dict:
    """Fifteen times the updates at a constant learning rate, and a wider GRU.

    Returns:
        "runs": for each kind, width "d" and seed the "accuracy" every 400 updates.
    """
    runs = []
    for (kind, d), seed in product(SLOW, SEEDS):
        accuracy = accuracy_over_updates(kind, d, seed, SLOW_STEPS)
        runs.append({"kind": kind, "d": d, "seed": seed, "accuracy": accuracy})
        print(f"  {runs[-1]}", flush=True)
    about = {"n": N, "every": EVERY, "learning_rate": LEARNING_RATE}
    return {"steps": SLOW_STEPS, **about, "runs": runs}


@experiment
def induction_query_first() -> dict:
    """The same for a GRU that reads the repeated symbol first, and not last.

    So it knows from the beginning which pair to keep. Paths are as long as before.

    Returns:
        As :func:`induction_updates`.
    """
    runs = []
    for seed in SEEDS:
        accuracy = accuracy_over_updates("GRU", WIDTH, seed, FIRST_STEPS, query_first)
        runs.append({"kind": "GRU", "d": WIDTH, "seed": seed, "accuracy": accuracy})
        print(f"  {runs[-1]}", flush=True)
    about = {"n": N, "every": EVERY, "learning_rate": LEARNING_RATE}
    return {"steps": FIRST_STEPS, **about, "runs": runs}


def query_first(batch: Batch) -> Batch:
    """Move the last symbol of each sequence to its beginning."""
    ids, targets = batch
    return ids.roll(1, dims=1), targets


def accuracy_over_updates(
    kind: str,
    d: int,
    seed: int,
    steps: int,
    reorder: Callable[[Batch], Batch] = lambda batch: batch,
) -> list[float]:
    """Train one model, and test it again and again."""
    torch.manual_seed(seed)
    model = InductionModel(LAYERS[kind](d), d)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    test = reorder(next(induction_batches(N, seed=99, batch_size=2000)))
    found = []
    batches = map(reorder, induction_batches(N, seed))
    for step, batch in enumerate(islice(batches, steps), 1):
        train_step(model, optimizer, batch, token_loss)
        if step % EVERY == 0:
            found.append(round(last_position_accuracy(model, test), 4))
    check_finite(model.parameters())
    return found


@experiment
def running_parity() -> dict:
    """A task with a state: is the sum of the symbols so far odd or even?

    Returns:
        "runs": for each kind, number of "steps" and seed the "accuracy" after the last
        symbol.
    """
    runs = []
    for steps, kind, seed in product((STEPS, 5 * STEPS), TAGGERS, SEEDS):
        torch.manual_seed(seed)
        model = TAGGERS[kind]()
        fit(model, task_batches(parities, N, seed), steps, LEARNING_RATE)
        ids = random_symbols(2000, N, torch.Generator().manual_seed(99))
        accuracy = round(task_accuracy(model, parities(ids))[-1].item(), 4)
        runs.append({"kind": kind, "steps": steps, "seed": seed, "accuracy": accuracy})
        print(f"  {runs[-1]}", flush=True)
    return {"n": N, "d": WIDTH, "learning_rate": LEARNING_RATE, "runs": runs}


def induction_accuracy(kind: str, seed: int, steps: int) -> float:
    """Train one model and test it."""
    torch.manual_seed(seed)
    model = InductionModel(LAYERS[kind](WIDTH), WIDTH)
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
