"""Time and memory of each kind of layer, by length and by width."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from torch import nn

from attnbook.analysis.cost import median_seconds, peak_bytes
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
    WindowedSelfAttention,
)
from experiments.registry import experiment

LENGTHS = (128, 256, 512, 1024, 2048, 4096)
WIDTHS = (64, 128, 256, 512, 1024)
LENGTH, WIDTH = 512, 256  # of the other sweep
BATCHES = (1, 4, 16, 64)
HEAD_WIDTH = 64
KERNEL, WINDOW = 3, 64

KINDS: dict[str, Callable[[int], nn.Module]] = {
    "self-attention": lambda d: SelfAttentionLayer(d, d // HEAD_WIDTH),
    "restricted": lambda d: WindowedSelfAttention(d, d // HEAD_WIDTH, WINDOW),
    "GRU": RecurrentLayer,
    "convolution": lambda d: ConvolutionLayer(d, KERNEL),
    "dilated": lambda d: ConvolutionLayer(d, KERNEL, dilation=9),
}


@experiment
def layer_cost() -> dict:
    """Measure the forward pass of one layer of each kind on one sequence.

    Returns:
        "runs": for each length at one width, and each width at one length, and each
        kind: the median processor time in "seconds", and the peak memory in "bytes"
        beyond the weights and the input.
    """
    sizes = [(n, WIDTH) for n in LENGTHS] + [(LENGTH, d) for d in WIDTHS]
    runs = []
    for n, d in dict.fromkeys(sizes):
        for kind in KINDS:
            runs.append({"kind": kind, "n": n, "d": d, **measure_layer(kind, n, d)})
            print(f"  {runs[-1]}", flush=True)
    about = {"kernel": KERNEL, "window": WINDOW, "head": HEAD_WIDTH}
    return {"length": LENGTH, "width": WIDTH, **about, "runs": runs}


@experiment
def layer_batches() -> dict:
    """Measure self-attention and GRU, of equal work at n = d, by batch size.

    Returns:
        "runs": for each kind and batch size the cost of the whole batch.
    """
    runs = []
    for batch, kind in product(BATCHES, ("self-attention", "GRU")):
        found = measure_layer(kind, WIDTH, WIDTH, batch)
        runs.append({"kind": kind, "batch": batch, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"n": WIDTH, "d": WIDTH, "runs": runs}


def measure_layer(kind: str, n: int, d: int, batch: int = 1) -> dict[str, float]:
    """Measure one kind at one size."""
    torch.manual_seed(0)
    layer, x = KINDS[kind](d).eval(), torch.randn(batch, n, d)
    call = partial(layer, x)
    with torch.inference_mode():
        call()  # the first call takes longer
        return {"seconds": median_seconds(call), "bytes": peak_bytes(call)}
