"""Measured costs: the time and the memory of a call."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile

TIMINGS = 7
CPU = torch.device("cpu")


def median_seconds(call: Callable[[], object], device: torch.device = CPU) -> float:
    """Median time of a call, to three significant digits.

    On a CPU it is processor time. Windows counts that in steps of 16 ms, so there a
    call must take much longer. On a GPU it is the time between two events of its own,
    before the call's first kernel and after its last.

    Args:
        call: What to time; call it once before, since first calls take longer.
        device: Where it computes.
    """
    timed = _gpu_seconds if device.type == "cuda" else _processor_seconds
    return float(f"{median(timed(call) for _ in range(TIMINGS)):.3g}")


def _processor_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _gpu_seconds(call: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000  # milliseconds


def peak_bytes(call: Callable[[], object], device: torch.device = CPU) -> int:
    """Peak memory of a call on a device, beyond what was allocated before."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        call()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text("utf-8"))["traceEvents"]
    allocations = [event for event in events if event.get("name") == "[memory]"]
    allocated = peak = 0
    for event in sorted(allocations, key=lambda event: event["ts"]):
        allocated += event["args"]["Bytes"]  # negative where memory is freed
        peak = max(peak, allocated)
    return peak
