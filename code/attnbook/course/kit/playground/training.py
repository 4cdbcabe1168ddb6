"""Trains as the page does, step by step."""

from typing import NamedTuple

import torch

from attnbook.core.divergence import check_finite
from attnbook.course.kit.playground.model import Model, accuracy_of, loss_of
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.tasks import batches


class Run(NamedTuple):
    """A trained model, and for each step what its fresh batch said before the step."""

    model: Model
    losses: list[float]
    accuracies: list[float]


def train(setting: Setting) -> Run:
    """Train a model from its first weights."""
    model = Model(setting)
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    losses, accuracies = [], []
    stream = batches(setting.task, f"{setting.seed}/batches")
    for step, (ids, targets) in zip(range(setting.steps), stream, strict=False):
        optimizer.param_groups[0]["lr"] = setting.rate_at(step)
        logits = model(ids)  # (B, T, K, V)
        loss = loss_of(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        accuracies.append(accuracy_of(logits, targets))
    check_finite(model.parameters(), losses)
    return Run(model, losses, accuracies)
