"""The cost of attention with and without the fused kernel, by sequence length."""

from __future__ import annotations

from functools import partial
from itertools import product

import torch

from attnbook.analysis.cost import median_seconds, peak_bytes
from attnbook.course.kit.experiments import experiment
from attnbook.nn.scaled_dot_product import attention

LENGTHS = (128, 256, 512, 1024, 2048, 4096)
HEADS, WIDTH = 8, 64  # H, d_k
FORMS = {"readable": True, "fused": False}  # whether the weights are returned


@experiment
def fused_cost() -> dict:
    """Measure one self-attention of n positions, without gradients.

    Returns:
        "runs": for each length and form the peak memory in "bytes" beyond q, k and v,
        and the median processor time in "seconds".
    """
    runs = []
    for n, form in product(LENGTHS, FORMS):
        g = torch.Generator().manual_seed(0)
        q, k, v = torch.randn(3, 1, HEADS, n, WIDTH, generator=g)
        call = partial(attention, q, k, v, need_weights=FORMS[form])
        with torch.inference_mode():
            cost = {"bytes": peak_bytes(call), "seconds": median_seconds(call)}
        runs.append({"n": n, "form": form, **cost})
        print(f"  {runs[-1]}", flush=True)
    return {"heads": HEADS, "d_k": WIDTH, "runs": runs}
