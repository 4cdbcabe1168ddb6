"""Muon, by Jordan et al. 2024: hidden matrices take steps that stretch no direction."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
ROUNDS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the polynomial a·σ + b·σ³ + c·σ⁵, which takes singular values towards 1."""

RATE = 5.0
"""Muon's learning rate in multiples of Adam's."""


def orthogonalise(matrices: Tensor) -> Tensor:
    """Set the singular values of matrices to about 1, without their decomposition.

    Five rounds of a Newton–Schulz iteration, which needs products of matrices only,
    leave them between 0.7 and 1.2 unless they were less than a thousandth of the norm.

    Args:
        matrices: Real matrices, (..., M, N).

    Returns:
        Matrices with the same singular vectors, (..., M, N).
    """
    wide = matrices.shape[-2] <= matrices.shape[-1]
    x = matrices if wide else matrices.mT  # the product x·xᵀ is then the smaller one
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x if wide else x.mT


class Muon(torch.optim.Adam):
    """Muon for some matrices, Adam for all other parameters.

    Args:
        parameters: All parameters.
        matrices: Those that Muon is for: weights between hidden layers, but neither
            embeddings nor the weights before the logits.
        adam: What else :class:`torch.optim.Adam` takes. Its learning rate ``lr`` is
            multiplied by :data:`RATE` for the matrices, and by √(M/N) if they have
            more rows M than columns N.
    """

    def __init__(
        self, parameters: Iterable[Tensor], matrices: Iterable[Tensor], **adam: object
    ) -> None:
        super().__init__(parameters, **adam)
        self.by_shape: dict[torch.Size, list[Tensor]] = {}
        for matrix in matrices:
            self.by_shape.setdefault(matrix.shape, []).append(matrix)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Take one step; the gradients of the matrices are used up."""
        rate = RATE * self.param_groups[0]["lr"]
        for (rows, columns), matrices in self.by_shape.items():
            gradients = torch.stack([matrix.grad for matrix in matrices])
            momenta = torch.stack([self._momentum(matrix) for matrix in matrices])
            momenta.lerp_(gradients, 1 - MOMENTUM)
            steps = orthogonalise(gradients.lerp(momenta, MOMENTUM))  # Nesterov's
            steps *= rate * max(1, rows / columns) ** 0.5
            for matrix, momentum, change in zip(matrices, momenta, steps, strict=True):
                self._momentum(matrix).copy_(momentum)
                matrix -= change
                matrix.grad = None  # so that Adam passes it by
        super().step()

    def _momentum(self, matrix: Tensor) -> Tensor:
        """The mean of a matrix's gradients, in which old ones count less and less.

        It has the name that Adam gives it, beside a count of steps that Adam expects.
        """
        state = self.state[matrix]
        if not state:
            state["exp_avg"] = torch.zeros_like(matrix)
            state["step"] = torch.zeros(())
        return state["exp_avg"]


def hidden_matrices(model: nn.Module, n_tokens: int) -> list[nn.Parameter]:
    """The matrices of a model that have no dimension as long as the vocabulary."""
    return [p for p in model.parameters() if p.ndim == 2 and n_tokens not in p.shape]
