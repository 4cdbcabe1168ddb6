"""The table of speeds: ``python benchmarks/train_speed.py``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from attnbook.analysis.complexity import training_flops
from attnbook.analysis.cost import matmul_throughput
from attnbook.core.devices import DEVICES, choose_device
from attnbook.core.threads import set_threads
from attnbook.translation.devices import set_backends
from attnbook.translation.report import commit, hardware
from growing import begun, write_growing
from speed.decoding_speed import decoding_speeds
from speed.training_speed import (
    COMPILED,
    COMPILED_PEERS,
    EAGER,
    ON_CPU,
    WORKS,
    Workload,
    training_speeds,
)

KINDS = ("eager", "compiled", "compiled_peers", "decoding")
COLUMNS = ("name", "tokens_per_second", "ms_per_batch", "share", "peak_mb")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure speeds, print them, and write them to a file if one is named.

    Args:
        arguments: By default those of the command line.
    """
    parser = argparse.ArgumentParser(prog="train_speed.py", description=__doc__)
    parser.add_argument("--device", default="auto", choices=DEVICES)
    parser.add_argument(
        "--work", choices=WORKS, help="model and batch: tiny on a GPU, cpu elsewhere"
    )
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--rounds", default=5, type=int, help="timings of each")
    parser.add_argument("--small", action="store_true", help="a trial, in seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write")
    chosen = parser.parse_args(arguments)
    set_threads()
    set_backends()
    device = choose_device(chosen.device)
    work, rounds = chosen.work, chosen.rounds
    if chosen.small:
        work, rounds = "small", 1
    elif work is None:
        work = "tiny" if device.type == "cuda" else "cpu"
    if not chosen.json:
        *_, values = measure_speeds(work, chosen.kinds, device, rounds)
        print(format_table(values))
        return
    known = begun(chosen.json, hardware(device))
    write_growing(
        chosen.json, measure_speeds(work, chosen.kinds, device, rounds, known)
    )
    print(format_table(json.loads(chosen.json.read_text(encoding="utf-8"))))


def measure_speeds(
    name: str,
    kinds: Sequence[str],
    device: torch.device,
    rounds: int,
    known: dict | None = None,
) -> Iterator[dict]:
    """Measure speeds, with all that is needed to interpret them.

    Args:
        name: One of :data:`~speed.training_speed.WORKS`.
        kinds: Some of ``KINDS``.
        device: The device.
        rounds: Timings of each, of which the median is taken.
        known: What was measured before, whose rows are not repeated.

    Yields:
        "machine", versions, the sizes of the workload, the throughput of the device's
        matrix products in TFLOP/s, and the results of each kind, ever more rows.
    """
    work, known = WORKS[name], known or {}
    values = describe_workload(name, work, device)
    throughputs = {
        getattr(torch, name): 1e12 * tflops
        for name, tflops in values["matmul_tflops"].items()
    }
    methods = {
        "eager": EAGER if device.type == "cuda" else ON_CPU,
        "compiled": COMPILED,
        "compiled_peers": COMPILED_PEERS,
    }
    for kind in (kind for kind in methods if kind in kinds):
        about = methods[kind], work, device, throughputs, rounds, known.get(kind, ())
        for rows in training_speeds(*about):
            yield values | {kind: rows}
        values[kind] = rows
    if "decoding" in kinds:
        values["decoding"] = []
        precisions = (torch.float32, torch.bfloat16)
        for precision in precisions if device.type == "cuda" else precisions[:1]:
            for row in decoding_speeds(work, device, precision, rounds=rounds):
                values["decoding"].append(row)
                yield values


def describe_workload(name: str, work: Workload, device: torch.device) -> dict:
    """The workload, the machine, its settings and the versions."""
    length = round(work.length[0])
    rows = work.batch_tokens // length
    return {
        "machine": hardware(device),
        "device": device.type,
        "commit": commit(),
        "tf32": torch.backends.cudnn.allow_tf32,
        "cudnn_attention": torch.backends.cuda.cudnn_sdp_enabled(),
        "versions": {
            "python": platform.python_version(),
            **{
                name: installed_version(name)
                for name in ("torch", "transformers", "triton")
            },
        },
        "work": name,
        "sizes": dataclasses.asdict(work.config),
        "batch_tokens": work.batch_tokens,
        "tflop_per_batch": training_flops(work.config, rows, length, length) / 1e12,
        "matmul_tflops": {
            str(dtype).removeprefix("torch."): matmul_throughput(device, dtype) / 1e12
            for dtype in (torch.float32, torch.bfloat16)
        },
    }


def installed_version(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def format_table(values: dict) -> str:
    """The speeds as a table of text."""
    tflops = values["matmul_tflops"].items()
    lines = [
        f"{values['machine']}, torch {values['versions']['torch']}; {values['work']}",
        "matrix products: "
        + ", ".join(f"{x:.2f} TFLOP/s in {name}" for name, x in tflops),
        "tokens/s counts real target tokens; share: of that throughput, no padding",
        f"{'':30} {'tokens/s':>12} {'ms a batch':>11} {'share':>7} {'MB':>7}",
    ]
    training = ("eager", "compiled", "compiled_peers")
    for row in (row for kind in training for row in values.get(kind, ())):
        if "failed" in row:
            lines.append(f"{row['name']:30} {row['failed'][:80]}")
            continue
        _, speed, ms, share, peak = (row.get(head, "") for head in COLUMNS)
        lines.append(f"{row['name']:30} {speed:12,} {ms:11.2f} {share:7.1%} {peak:>7}")
    for row in values.get("decoding", ()):
        theirs = f"{row['marian']:,}" if "marian" in row else "not installed"
        lines.append(
            f"decoding, width {row['width']}, {row['precision']}: ours "
            f"{row['ours']:,} tokens/s, Marian {theirs}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
