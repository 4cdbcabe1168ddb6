"""Which positions a long text keeps: a sliding window, and sinks at the beginning."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.core.checks import check_sizes
from attnbook.nn.masks import causal_mask


def window_mask(
    t: int, window: int, sinks: int = 0, device: torch.device | str | None = None
) -> Tensor:
    """Let each position attend to the last few, and to the first few of all.

    Xiao et al. 2024 call the first ones attention sinks: trained models put weight on
    them whatever they are. A decoder with this mask caches ``window + sinks`` of them.

    Args:
        t: Number T of positions.
        window: How many of the last it sees, its own included.
        sinks: How many of the first it always sees.
        device: That of the ids or vectors.

    Returns:
        (T, T), bool.

    Raises:
        ValueError: If there is no position or no window, or the number of sinks is
            negative.
    """
    check_sizes(t=t, window=window)
    check_sizes(0, sinks=sinks)
    positions = torch.arange(t, device=device)
    near = positions > positions[:, None] - window  # (T, T): i - j < window
    return causal_mask(t, device=device) & (near | (positions < sinks))
