"""The table that closes a chapter: ours against a reference, values and gradients."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.course.kit.html_tables import Column, Table, table

BOUND = 1e-12

Rows = dict[str, tuple[Tensor, Tensor, Sequence[Tensor]]]
"""For each name a result, its reference and what both depend on."""


def agreement_table(rows: Rows) -> Table:
    """Return a table of results that agree with a reference, gradients included.

    Two tensors agree if no entry differs by more than 1e-12 of the largest one. The
    gradient is that of the sum of squares.

    Args:
        rows: For each name our result, the reference, both float64 and of one shape,
            and what they depend on, parameters or inputs.

    Raises:
        AssertionError: If they do not agree; the message says by how much.
    """
    for name, (ours, reference, leaves) in rows.items():
        _agree(f"{name}, values", ours, reference)
        sides = [
            torch.autograd.grad(side.square().sum(), leaves, retain_graph=True)
            for side in (ours, reference)
        ]
        for mine, theirs in zip(*sides, strict=True):
            _agree(f"{name}, gradients", mine, theirs)
    group = "largest relative difference"
    heads = [Column(name, group=group) for name in ("results", "gradients")]
    return table(["compared", *heads], [(name, "≤ 10⁻¹²", "≤ 10⁻¹²") for name in rows])


def _agree(name: str, ours: Tensor, reference: Tensor) -> None:
    torch.testing.assert_close(
        ours,
        reference,
        rtol=0,
        atol=BOUND * reference.abs().max().item(),
        msg=lambda said: f"{name}: {said}",
    )
