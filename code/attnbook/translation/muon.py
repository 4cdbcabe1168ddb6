"""Muon, by Jordan et al. 2024: a matrix steps equally far in all its directions."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
ROUNDS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the polynomial a·σ + b·σ³ + c·σ⁵, which takes singular values towards 1."""

RATE = 2.5
"""Muon's learning rate in multiples of Adam's."""


def orthogonalise(matrix: Tensor) -> Tensor:
    """Set the singular values of a matrix to about 1, without its decomposition.

    Five rounds of a Newton–Schulz iteration, which needs products of matrices only,
    leave them between 0.7 and 1.2 unless they were less than a hundredth of the norm.

    Args:
        matrix: Any matrix, (M, N).

    Returns:
        A matrix with the same singular vectors, (M, N).
    """
    wide = matrix.shape[0] <= matrix.shape[1]
    x = matrix if wide else matrix.T  # the product x·xᵀ is then the smaller one
    x = x / (x.norm() + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(ROUNDS):
        square = x @ x.T
        factor = torch.addmm(square, square, square, beta=b, alpha=c)
        x = torch.addmm(x, factor, x, beta=a)  # a·x + (b·x·xᵀ + c·(x·xᵀ)²)·x
    return x if wide else x.T


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
        self.matrices = [*matrices]

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Take one step; the gradients of the matrices are used up."""
        rate = RATE * self.param_groups[0]["lr"]
        for matrix in self.matrices:
            momentum = self._momentum(matrix).lerp_(matrix.grad, 1 - MOMENTUM)
            change = orthogonalise(matrix.grad.lerp(momentum, MOMENTUM))  # Nesterov's
            rows, columns = matrix.shape
            matrix.sub_(change, alpha=rate * max(1, rows / columns) ** 0.5)
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
