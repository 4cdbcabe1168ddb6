"""Tensors to try answers on."""

from __future__ import annotations

import torch


def drawn(*cases: tuple) -> list[tuple]:
    """Draw arguments for an answer, the same at each call.

    Args:
        cases: The arguments of one try each. A tuple is a shape, and a tensor of that
            shape is drawn, normal with variance 1; all else is given as it is.
    """
    g = torch.Generator().manual_seed(0)
    return [
        tuple(
            torch.randn(entry, generator=g) if isinstance(entry, tuple) else entry
            for entry in case
        )
        for case in cases
    ]
