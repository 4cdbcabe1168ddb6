"""How much there is to calculate in a training step, and how much a device can.

Only matrix products are counted: all else is few operations, and waits for memory.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import torch

SHORT = 2e8
"""Multiplications of one timing at least; a smaller matrix is multiplied repeatedly."""


class Sizes(NamedTuple):
    """What decides how much a Transformer calculates."""

    n_words: int  # V, of the target side
    d_model: int
    n_heads: int
    n_layers: int
    d_ff: int


def forward_flops(sizes: Sizes, batch: int, source: int, target: int) -> int:
    """Operations of predicting a padded batch, a multiplication and an addition two.

    The attention's products are counted for all pairs of places, as they are calculated
    before the mask.

    Args:
        sizes: Of the model.
        batch: Sentences B.
        source: Places S of each source.
        target: Places T of each target.
    """
    _, d, _, n, d_ff = sizes
    network = 2 * d * d_ff  # multiplications for one place
    encoder = source * (4 * d * d + network) + _attention(source, source, d)
    decoder = target * (6 * d * d + network) + source * 2 * d * d
    decoder += _attention(target, target, d) + _attention(target, source, d)
    words = target * d * sizes.n_words
    return 2 * batch * (n * (encoder + decoder) + words)


def _attention(queries: int, keys: int, d_model: int) -> int:
    """Multiplications of all heads: scores, and weights times values."""
    return 2 * queries * keys * d_model


def training_flops(sizes: Sizes, batch: int, source: int, target: int) -> int:
    """Operations of one training step: a product has two gradients as large as it."""
    return 3 * forward_flops(sizes, batch, source, target)


def matmul_rate(
    device: torch.device,
    dtype: torch.dtype,
    sizes: Sequence[int] | None = None,
    repeats: int = 5,
) -> float:
    """Measure the operations a second that square matrix products reach at best.

    Args:
        device: Where.
        dtype: Of the matrices; their numbers are random, as zeros would run faster.
        sizes: Rows of the matrices to try.
        repeats: Timings of each size; their median counts.
    """
    if sizes is None:
        sizes = (4096, 8192, 16384) if device.type == "cuda" else (256, 512, 1024)
    return max(_rate(n, device, dtype, repeats) for n in sizes)


def _rate(n: int, device: torch.device, dtype: torch.dtype, repeats: int) -> float:
    a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))
    short = 1e4 * SHORT if device.type == "cuda" else SHORT
    products = max(1, round(short / n**3))
    seconds = []
    for _ in range(repeats + 1):  # the first one warms up
        wait(device)
        start = time.perf_counter()
        for _ in range(products):
            a @ b
        wait(device)
        seconds.append(time.perf_counter() - start)
    return 2 * n**3 * products / median(seconds[1:])


def wait(device: torch.device) -> None:
    """Let a GPU end what it was told: it works on while the program goes on."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
