"""Linear probes: what can a linear classifier read from vectors?"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.core.checks import check_some


class LinearProbe(NamedTuple):
    """A linear classifier of vectors."""

    weight: Tensor  # (D, C)
    bias: Tensor  # (C,)
    classes: Tensor  # (C,) the label of each column

    def predict(self, x: Tensor) -> Tensor:
        """The label of each of (n, D) vectors, (n,)."""
        x = x.to(self.weight.dtype)
        return self.classes[(x @ self.weight + self.bias).argmax(-1)]


def fit_probe(x: Tensor, labels: Tensor, shrinkage: float = 0.01) -> LinearProbe:
    """Fit a probe by linear discriminant analysis: class means, one shared covariance.

    It has a closed form, so that nothing depends on how long a probe is trained. It is
    computed in float64, which MPS does not have: give it tensors of the CPU there.

    Args:
        x: Vectors, (n, D).
        labels: Ids, (n,).
        shrinkage: Fraction of the mean variance that is added to each variance.

    Raises:
        ValueError: If there are no vectors, not as many labels, or the covariance of
            the classes cannot be inverted: each label occurs only once, or vectors
            differ too little.
    """
    if len(x) != len(labels):
        raise ValueError(
            f"{len(x)} vectors and {len(labels)} labels; give one for each"
        )
    check_some(x, "vector")
    x = x.double()
    classes, which, sizes = labels.unique(return_inverse=True, return_counts=True)
    if sizes.max() == 1:
        raise ValueError(
            f"each of the {len(labels)} labels occurs once; give several vectors of a "
            "class"
        )
    means = x.new_zeros(len(classes), x.shape[1])
    means = means.index_add(0, which, x) / sizes[:, None]  # (C, D)
    deviations = x - means[which]  # (n, D)
    covariance = deviations.mT @ deviations / len(x)  # (D, D)
    covariance.diagonal().add_(shrinkage * covariance.diagonal().mean())
    try:
        weight = torch.linalg.solve(covariance, means.mT)  # (D, C)
    except torch.linalg.LinAlgError as error:
        raise ValueError(
            "the covariance of the classes can't be inverted; give vectors that differ "
            f"within a class, and a shrinkage above 0: it is {shrinkage}"
        ) from error
    bias = (sizes / len(x)).log() - (means * weight.mT).sum(-1) / 2
    return LinearProbe(weight, bias, classes)


def probe_accuracy(probe: LinearProbe, x: Tensor, labels: Tensor) -> float:
    """Fraction of vectors, (n, D), whose label, (n,), the probe predicts."""
    check_some(x, "vector")
    return (probe.predict(x) == labels).double().mean().item()
