"""What can be read off a vector by a linear map? Probes of the encoder's layers."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.models.transformer import Transformer


@torch.no_grad()
def layer_states(model: Transformer, src: Tensor) -> list[Tensor]:
    """Run the encoder and keep what is passed on from layer to layer.

    Args:
        model: In eval mode.
        src: Source ids, (B, S).

    Returns:
        N + 1 tensors, (B, S, D): word vector plus position, and after each layer. In a
        pre-norm model the last is not yet normalised.
    """
    states: list[Tensor] = []
    hooks = [
        model.encoder[0].register_forward_pre_hook(
            lambda _, given: states.append(given[0])
        ),
        *(
            layer.register_forward_hook(lambda _, given, out: states.append(out))
            for layer in model.encoder
        ),
    ]
    try:
        model.encode(src)
    finally:
        for hook in hooks:
            hook.remove()
    return states


class Probe(NamedTuple):
    """A linear map from vectors to the scores of classes."""

    weight: Tensor  # (D, C)
    bias: Tensor  # (C,)
    classes: Tensor  # (C,) what each column stands for

    def answers(self, x: Tensor) -> Tensor:
        """The class of each of (n, D) vectors, (n,)."""
        return self.classes[(x @ self.weight + self.bias).argmax(-1)]


def fit_probe(x: Tensor, labels: Tensor, shrink: float = 0.01) -> Probe:
    """Fit linear discriminants: a mean for each class, one covariance for all.

    It has a closed form, so that nothing depends on how long a probe was trained.

    Args:
        x: Vectors, (n, D).
        labels: Ids, (n,).
        shrink: Share of the mean variance that is added to each direction's.

    Raises:
        ValueError: If the two are not of one length.
    """
    if len(x) != len(labels):
        raise ValueError(
            f"{len(x)} vectors and {len(labels)} labels; give one for each"
        )
    x = x.double()
    classes, which, sizes = labels.unique(return_inverse=True, return_counts=True)
    means = torch.zeros(len(classes), x.shape[1], dtype=x.dtype)
    means = means.index_add(0, which, x) / sizes[:, None]  # (C, D)
    apart = x - means[which]  # (n, D)
    covariance = apart.mT @ apart / len(x)  # (D, D)
    covariance += shrink * covariance.diagonal().mean() * torch.eye(x.shape[1])
    weight = torch.linalg.solve(covariance, means.mT)  # (D, C)
    bias = (sizes / len(x)).log() - (means * weight.mT).sum(-1) / 2
    return Probe(weight, bias, classes)


def probe_accuracy(probe: Probe, x: Tensor, labels: Tensor) -> float:
    """Share of vectors, (n, D), whose label, (n,), the probe says."""
    return (probe.answers(x.double()) == labels).double().mean().item()
