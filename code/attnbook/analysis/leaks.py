"""Which outputs depend on which inputs? A test for information leaks.

One input position is changed at a time, and the outputs that change are recorded. This
needs no knowledge of the model. So it finds in any model a causal mask that is missing
or inverted, and heads that were split wrongly.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


@torch.no_grad()
def influence(
    model: Callable[[Tensor], Tensor], x: Tensor, replacement: Tensor | None = None
) -> Tensor:
    """Measure how much each output changes when one input position is changed.

    Args:
        model: Called with inputs like ``x``, it returns (B, T, ...). For a model with
            several inputs write ``lambda tgt: model(src, tgt)``.
        x: Vectors, (B, S, ...), or ids, (B, S).
        replacement: The values after the change: of the shape of ``x``, and different
            at the positions of interest. For vectors the default is ``x`` plus noise.

    Returns:
        (T, S): entry (i, j) is the largest absolute change of output i, over sentences
        and features, when position j alone is changed.

    Raises:
        ValueError: If ``replacement`` is missing for ids or has another shape, or the
            model is not deterministic.

    Examples:
        >>> x = torch.randn(1, 3, 4)
        >>> (influence(lambda x: x.cumsum(1), x) > 0).int()  # nothing from the future
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    replacement, before = _replacement(x, replacement), _output(model, x)
    columns = []
    for j in range(x.shape[1]):
        changed = x.clone()
        changed[:, j] = replacement[:, j]
        difference = (model(changed) - before).abs()  # (B, T, ...)
        columns.append(difference.transpose(0, 1).flatten(1).amax(1))  # (T,)
    return torch.stack(columns, dim=1)


def _output(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Run the model twice, to be sure that a difference comes from the change."""
    before = model(x)
    if not torch.equal(before, model(x)):
        raise ValueError(
            "the model gave two different outputs for one input, so a change would "
            "mean nothing; call model.eval() if it has dropout, and look for NaN or a "
            "kept state"
        )
    return before


def _replacement(x: Tensor, replacement: Tensor | None) -> Tensor:
    """Check the replacements, or make them."""
    if replacement is None and not x.is_floating_point():
        raise ValueError(
            f"x is of type {x.dtype}, so it holds ids; give `replacement`, the ids to "
            "put in their place"
        )
    if replacement is None:
        # Noise, and not a constant: layer norm would remove a constant.
        g = torch.Generator().manual_seed(0)
        return x + torch.randn(x.shape, generator=g).to(x)
    if replacement.shape != x.shape:
        raise ValueError(
            f"replacement has shape {tuple(replacement.shape)}, x {tuple(x.shape)}; "
            "give one value for each position"
        )
    return replacement
