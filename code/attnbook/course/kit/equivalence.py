"""The table that closes a chapter: ours against a reference, values and gradients."""

from __future__ import annotations

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
        ValueError: If a row is not float64, or its two shapes differ.
        AssertionError: If they do not agree; the message says by how much.
    """
    _check(rows)
    group = "largest relative difference"
    heads = [
        "compared",
        *(Column(name, group=group) for name in ("results", "gradients")),
    ]
    return table(heads, [(name, "≤ 10⁻¹²", "≤ 10⁻¹²") for name in rows])


def _check(rows: Rows) -> None:
    """Stop at the first row whose two results do not agree."""
    for name, (ours, reference, leaves) in rows.items():
        types = {ours.dtype, reference.dtype}
        if ours.shape != reference.shape or types != {torch.float64}:
            raise ValueError(
                f"{name}: compare float64 tensors of one shape, not {ours.dtype} "
                f"{tuple(ours.shape)} with {reference.dtype} {tuple(reference.shape)}"
            )
        _agree(f"{name}, values", ours, reference)
        sides = [
            torch.autograd.grad(side.square().sum(), leaves, retain_graph=True)
            for side in (ours, reference)
        ]
        for mine, theirs in zip(*sides, strict=True):
            _agree(f"{name}, gradients", mine, theirs)


def _agree(name: str, ours: Tensor, reference: Tensor) -> None:
    difference, largest = (ours - reference).abs().max(), reference.abs().max()
    assert difference <= BOUND * largest, (
        f"{name}: differ by {difference / largest:.1e} of the largest"
    )
