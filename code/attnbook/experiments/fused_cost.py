"""What does the fused kernel save? Memory and time of attention by its length."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile

from attnbook.attention import attention

LENGTHS = (128, 256, 512, 1024, 2048, 4096)
HEADS, WIDTH = 8, 64  # H, d_k
REPEATS = 7
FORMS = {"readable": True, "fused": False}  # whether the weights are asked for


def fused_cost() -> dict:
    """Measure one self-attention of n places, without gradients.

    Returns:
        "runs": for each length and form the most "bytes" held at once beyond q, k and
        v, and the median processor time in "seconds".
    """
    runs = []
    for n, form in product(LENGTHS, FORMS):
        g = torch.Generator().manual_seed(0)
        q, k, v = torch.randn(3, 1, HEADS, n, WIDTH, generator=g)
        call = partial(attention, q, k, v, need_weights=FORMS[form])
        with torch.inference_mode():
            cost = {"bytes": most_bytes(call), "seconds": typical_seconds(call)}
        runs.append({"n": n, "form": form, **cost})
        print(f"  {runs[-1]}", flush=True)
    return {"heads": HEADS, "d_k": WIDTH, "runs": runs}


def most_bytes(call: Callable[[], object]) -> int:
    """The most memory that a call holds at one moment, on top of what was there."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        call()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    taken = [event for event in events if event.get("name") == "[memory]"]
    held = most = 0
    for event in sorted(taken, key=lambda event: event["ts"]):
        held += event["args"]["Bytes"]  # negative where memory is given back
        most = max(most, held)
    return most


def typical_seconds(call: Callable[[], object]) -> float:
    """Median processor time of a call."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return float(f"{median(times):.3g}")
