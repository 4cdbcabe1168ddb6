"""What a call costs when it is measured: time, memory, and what the device could do."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile

REPEATS = 7


def typical_seconds(call: Callable[[], object]) -> float:
    """Median processor time of a call."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return float(f"{median(times):.3g}")


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


SHORT = 2e8
"""Multiplications of one timing at least; a smaller matrix is multiplied repeatedly."""


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
