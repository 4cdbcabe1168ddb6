"""The training loop of all toy models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice

import torch
from torch import Tensor, nn

from attnbook.loss import token_loss


def fit(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, ...]],
    steps: int,
    rate: float,
    clip: float = 1.0,
) -> list[float]:
    """Train with Adam, a rate that falls along half a cosine, and clipped gradients.

    Args:
        model: Returns logits, (B, T, V).
        batches: At least ``steps`` of them; each holds what the model is called with,
            such as ``src, tgt_in``, and last the targets, (B, T).
        steps: Number of updates.
        rate: Learning rate at the first step; 0 after the last.
        clip: Largest norm of the gradient of all parameters together.

    Returns:
        The loss of each step, nats a token, before the step's update.

    Raises:
        ValueError: If ``steps`` is less than 1, or the batches run out.
    """
    if steps < 1:
        raise ValueError(f"steps is {steps}; it must be at least 1")
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 0.5 * (1 + math.cos(math.pi * step / steps))
    )
    model.train()
    losses = []
    for *inputs, targets in islice(batches, steps):
        loss = token_loss(model(*inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())  # no .item(): it would wait for a GPU
    if len(losses) < steps:
        raise ValueError(
            f"the batches ran out after {len(losses)} of {steps} steps; give more"
        )
    model.eval()
    return torch.stack(losses).tolist()
