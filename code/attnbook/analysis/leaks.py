"""Who reacts to whom? Change one place of the input and see which outputs move.

It needs no knowledge of the model's inside, so it finds in anybody's model a mask that
was forgotten, one that is the wrong way round, or heads that were split wrongly.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


@torch.no_grad()
def influence(
    model: Callable[[Tensor], Tensor], x: Tensor, other: Tensor | None = None
) -> Tensor:
    """Measure how far each output moves when one input place is changed.

    Args:
        model: Called with inputs like ``x``, it returns (B, T, ...). For one of more
            inputs write ``lambda tgt: model(src, tgt)``.
        x: Vectors, (B, S, ...), or ids, (B, S).
        other: What stands at place j after the change: like ``x``, and different at
            the places of interest. For vectors, ``x`` and noise if not given.

    Returns:
        (T, S): entry (i, j) is the largest absolute change of output i, in any
        sentence and number, when place j is changed and no other.

    Raises:
        ValueError: If ``other`` is missing for ids or of another shape, or the model
            does not answer the same input twice alike.
    """
    other, before = _other(x, other), _answer(model, x)
    columns = [_changes(model, x, j, other, before) for j in range(x.shape[1])]
    return torch.stack(columns, dim=1)


@torch.no_grad()
def moved_by(
    model: Callable[[Tensor], Tensor],
    x: Tensor,
    j: int,
    other: Tensor | None = None,
    tolerance: float = 0.0,
) -> Tensor:
    """Say which outputs move when place j is changed.

    Args:
        model: As for :func:`influence`.
        x: Vectors, (B, S, ...), or ids, (B, S).
        j: The place, from 0.
        other: As for :func:`influence`.
        tolerance: A change up to this is none. 0 is right for a mask that makes
            weights exactly 0: what is multiplied by it cannot be felt, even rounded.

    Returns:
        (T,), bool. A causal model has it False before j.

    Raises:
        ValueError: If there is no place j, or as :func:`influence`.
    """
    if not 0 <= j < x.shape[1]:
        raise ValueError(
            f"there is no place {j}; x has the places 0 … {x.shape[1] - 1}"
        )
    other, before = _other(x, other), _answer(model, x)
    # Not "> tolerance": NaN, which is no number, has moved.
    return ~(_changes(model, x, j, other, before) <= tolerance)


def _changes(
    model: Callable[[Tensor], Tensor], x: Tensor, j: int, other: Tensor, before: Tensor
) -> Tensor:
    """How far each output is from ``before`` when place j is changed: (T,)."""
    changed = x.clone()
    changed[:, j] = other[:, j]
    difference = (model(changed) - before).abs()  # (B, T, ...)
    return difference.transpose(0, 1).flatten(1).amax(1)


def _answer(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Ask twice, to be sure that a difference comes from the change."""
    before = model(x)
    if not torch.equal(before, model(x)):
        raise ValueError(
            "the model gave two answers to one input, so a change would mean nothing; "
            "call model.eval() if it has dropout, and look for NaN or a kept state"
        )
    return before


def _other(x: Tensor, other: Tensor | None) -> Tensor:
    """Check the replacements, or make them."""
    if other is None and not x.is_floating_point():
        raise ValueError(
            f"x is of type {x.dtype}, so it holds ids; give `other`, the ids to put in "
            "their places"
        )
    if other is None:
        # Noise, and not a constant: a layer norm takes a constant away again.
        g = torch.Generator().manual_seed(0)
        return x + torch.randn(x.shape, generator=g).to(x)
    if other.shape != x.shape:
        raise ValueError(
            f"other has shape {tuple(other.shape)}, x {tuple(x.shape)}; give one "
            "replacement for each place"
        )
    return other
