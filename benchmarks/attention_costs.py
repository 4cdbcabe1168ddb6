"""Time and memory of attention by length, with and without the fused kernel.

    python benchmarks/attention_costs.py --device cuda --json costs.json

The same command measures a processor. Rows are written as they come, and a command that
was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from attnbook.analysis.cost import median_seconds, peak_bytes
from attnbook.core.devices import DEVICES, choose_device
from attnbook.core.threads import set_threads
from attnbook.nn.scaled_dot_product import attention
from attnbook.translation.devices import set_backends
from attnbook.translation.report import commit, hardware
from growing import begun, write_growing

LENGTHS = {"cpu": (128, 256, 512, 1024, 2048, 4096)}
LENGTHS["cuda"] = (*LENGTHS["cpu"], 8192, 16384)
SMALL = (16, 32)
HEADS, WIDTH = 8, 64  # H, d_k
FORMS = {"eager": True, "fused": False}  # whether the weights are returned
DTYPES = {
    "cpu": (torch.float32,),
    "cuda": (torch.float32, torch.bfloat16),
}


def costs(
    device: torch.device, lengths: Sequence[int], known: Sequence[dict] = ()
) -> Iterator[dict]:
    """Measure one self-attention of n positions, forward and with gradients.

    Args:
        device: Where to compute.
        lengths: The numbers of positions.
        known: Rows that were measured before, and are not repeated.

    Yields:
        "machine", "commit", "torch", the sizes and "rows", one row more each time:
        "bytes" at the peak beyond q, k and v, and the median "seconds".
    """
    about = {
        "machine": hardware(device),
        "device": device.type,
        "commit": commit(),
        "torch": torch.__version__,
        "heads": HEADS,
        "d_k": WIDTH,
    }
    rows = list(known)
    yield {**about, "rows": rows}
    kinds = product(lengths, DTYPES[device.type], FORMS, (False, True))
    for n, dtype, form, gradients in kinds:
        name = str(dtype).removeprefix("torch.")
        row = {"n": n, "dtype": name, "form": form, "gradients": gradients}
        if any(row.items() <= old.items() for old in rows):
            continue
        call = prepared(n, dtype, form, gradients, device)
        try:
            call()  # the first call takes longer
            row["seconds"] = median_seconds(call, device)
            row["bytes"] = peak_bytes(call, device)
        except RuntimeError as error:  # such as out of memory
            row["failed"] = str(error)[:200]
        rows.append(row)
        yield {**about, "rows": rows}


def prepared(
    n: int, dtype: torch.dtype, form: str, gradients: bool, device: torch.device
) -> partial:
    """A call that computes one attention."""
    g = torch.Generator().manual_seed(0)
    drawn = torch.randn(3, 1, HEADS, n, WIDTH, generator=g)
    inputs = [x.to(device, dtype).requires_grad_(gradients) for x in drawn]
    return partial(attend, inputs, FORMS[form])


def attend(inputs: Sequence[Tensor], need_weights: bool) -> None:
    """Compute attention, and its gradients if the inputs want them."""
    with torch.set_grad_enabled(inputs[0].requires_grad):
        out = attention(*inputs, need_weights=need_weights)
        out = out[0] if need_weights else out
    if out.requires_grad:
        torch.autograd.grad(out.sum(), inputs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the rows, and write them to a file.

    Args:
        arguments: By default those of the command line.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/attention_costs.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="auto", choices=DEVICES)
    parser.add_argument("--small", action="store_true", help="a trial, in seconds")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE")
    chosen = parser.parse_args(arguments)
    set_threads()
    set_backends()
    device = choose_device(chosen.device)
    lengths = SMALL if chosen.small else LENGTHS[device.type]
    known = begun(chosen.json, hardware(device)).get("rows", [])

    def printed() -> Iterator[dict]:
        for values in costs(device, lengths, known):
            print(*values["rows"][-1:], flush=True)
            yield values

    write_growing(chosen.json, printed())


if __name__ == "__main__":
    main()
