"""The training loop of all toy tasks: Adam, cosine decay, clipped gradients."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from itertools import islice

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.core.devices import model_device
from attnbook.core.divergence import check_finite
from attnbook.data.batching import pooled
from attnbook.nn.losses import token_loss
from attnbook.toy.data import CLAUSES, SOURCE, TARGET, make_batch, toy_pairs
from attnbook.toy.language import Pair

STEPS = 700
LEARNING_RATE = 4e-3


def fit(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, ...]],
    steps: int,
    learning_rate: float,
    clip: float = 1.0,
    warm_up: int = 1,
) -> list[float]:
    """Train with Adam, a cosine learning-rate schedule, and clipped gradients.

    Args:
        model: Returns logits, (B, T, V).
        batches: At least ``steps`` of them, on the model's device. Each holds the
            model's inputs, such as ``src, tgt_in``, and last the targets, (B, T).
        steps: Number of updates.
        learning_rate: That of the first step; it falls to 0 along half a cosine.
        clip: Maximum norm of the gradient of all parameters together.
        warm_up: Steps in which the learning rate rises linearly to its schedule.

    Returns:
        The loss of each step, in nats per token, before the step's update.

    Raises:
        ValueError: If an argument isn't positive, or the batches run out.
        DivergedError: If a loss or a weight is no longer finite.
    """
    check_sizes(steps=steps, warm_up=warm_up)
    for name, value in (("learning_rate", learning_rate), ("clip", clip)):
        if not value > 0:  # nor NaN
            raise ValueError(f"{name} is {value}; it must be more than 0")
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

    def share(step: int) -> float:
        decay = 0.5 * (1 + math.cos(math.pi * step / steps))
        return decay * min(1, (step + 1) / warm_up)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    model.train()
    losses = []
    for batch in islice(batches, steps):
        losses.append(train_step(model, optimizer, batch, token_loss, clip))
        schedule.step()
    if len(losses) < steps:
        raise ValueError(
            f"the batches ran out after {len(losses)} of {steps} steps; give more"
        )
    model.eval()
    values = torch.stack(losses).tolist()
    check_finite(model.parameters(), values)
    return values


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: tuple[Tensor, ...],
    loss: Callable[[Tensor, Tensor], Tensor],
    clip: float = 1.0,
) -> Tensor:
    """Update a model once, by the clipped gradient of a batch.

    Args:
        model: Returns logits, (B, T, V).
        optimizer: Has the model's parameters.
        batch: The model's inputs, such as ``src, tgt_in``, and last the targets.
        loss: Makes a scalar from logits and targets.
        clip: Maximum norm of the gradient of all parameters together.

    Returns:
        The loss before the update, a scalar without a graph, on the model's device.
    """
    *inputs, targets = batch
    value = loss(model(*inputs), targets)
    optimizer.zero_grad()
    value.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return value.detach()  # no .item(): it would wait for a GPU


def train_toy_model(
    make_model: Callable[[int, int], nn.Module],
    seed: int,
    steps: int = STEPS,
    transform: Callable[[Pair], Pair] = lambda pair: pair,
    learning_rate: float = LEARNING_RATE,
) -> tuple[nn.Module, list[float]]:
    """Train a model on the toy language.

    Args:
        make_model: Called with the sizes of the source and the target vocabulary.
        seed: Seed of the initial weights and of the sentences.
        steps: Number of batches of 64 sentences.
        transform: Applied to each sentence pair, such as :func:`reverse_source
            <attnbook.toy.data.reverse_source>`.
        learning_rate: That of the first step.

    Returns:
        The trained model, and the loss of each step.
    """
    torch.manual_seed(seed)
    model = make_model(len(SOURCE), len(TARGET))
    groups = pooled(map(transform, toy_pairs(seed, CLAUSES)), 64, random.Random(seed))
    batches = (make_batch(pairs, model_device(model)) for pairs in groups)
    return model, fit(model, batches, steps, learning_rate)
