"""What a state of fixed size can recall: linear attention against softmax attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from attnbook.nn.linear_attention import LinearAttention
from attnbook.nn.sequence_layers import SelfAttentionLayer
from attnbook.toy.last_position import (
    InductionModel,
    induction_batches,
    last_position_accuracy,
)
from attnbook.toy.training import fit
from experiments.registry import experiment

D_MODEL = 64
HEADS = (1, 2, 4, 8, 16, 32)  # heads of 64, 32, 16, 8, 4 and 2 features
N = 17  # positions: 16 different symbols, and one of them again
STEPS = 800
LEARNING_RATE = 4e-3

LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "softmax": SelfAttentionLayer,
    "linear": LinearAttention,
}


def recall_accuracy(kind: str, heads: int, seed: int, steps: int, n: int = N) -> float:
    """Train one layer on the induction task, and test it."""
    torch.manual_seed(seed)
    model = InductionModel(LAYERS[kind](D_MODEL, heads), D_MODEL)
    fit(model, induction_batches(n, seed), steps, LEARNING_RATE)
    return last_position_accuracy(
        model, next(induction_batches(n, 1000 + seed, batch_size=2000))
    )


@experiment
def linear_state(seeds: Sequence[int] = (0, 1, 2)) -> dict:
    """Train both kinds of attention with heads of several widths.

    Returns:
        "runs": for each kind and number of heads the width of a head, "d_k", and the
        accuracy of each seed.
    """
    runs = []
    for kind in LAYERS:
        for heads in HEADS:
            found = [recall_accuracy(kind, heads, seed, STEPS) for seed in seeds]
            runs.append(
                {
                    "kind": kind,
                    "heads": heads,
                    "d_k": D_MODEL // heads,
                    "accuracy": [round(x, 4) for x in found],
                }
            )
            print(f"  {runs[-1]}", flush=True)
    about = {"n": N, "steps": STEPS, "rate": LEARNING_RATE, "d_model": D_MODEL}
    return {**about, "seeds": list(seeds), "runs": runs}
