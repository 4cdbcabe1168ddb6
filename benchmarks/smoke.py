"""``python benchmarks/smoke.py FOLDER CONFIG ENTRY=VALUE … FILE``: does this way train?

Only a GPU can show that recorded updates compute what plain ones do. So a few epochs
are trained in each way, by a program of its own, since an error on a GPU spoils all
that comes after it. :func:`choose` compares them.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from attnbook.core.files import write_whole
from attnbook.core.threads import set_threads
from attnbook.translation.report import commit, hardware
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.train_command import read_config
from attnbook.translation.trainer import Trainer

WAYS: dict[str, dict] = {
    "graphs": {"few_shapes": True, "cuda_graphs": True},
    "graphs_fp32": {"few_shapes": True, "cuda_graphs": True, "precision": "fp32"},
    "plain": {"few_shapes": False},
    "shapes": {"few_shapes": True, "cuda_graphs": False},
}
"""Changes of the config; the first and the last make the same updates."""

EPOCHS = 6
"""The fourth batch of a shape is recorded; the last epoch has nothing new."""

TOLERANCE = 0.02
"""Largest difference of the losses in nats per token: sums are in another order."""


def short_run(folder: Path, name: str, entries: Sequence[str]) -> dict:
    """Train for a few epochs, and tell how that went; nothing else is kept."""
    shutil.rmtree(folder, ignore_errors=True)
    few = [*entries, f"max_epochs={EPOCHS}", f"validate_every={EPOCHS}"]
    trainer = Trainer(read_config(name, few), folder)
    try:
        trainer.train(bar=False)
    finally:
        trainer.close()
    log = [line for line in read_metrics(folder / "metrics.jsonl") if "loss" in line]
    shutil.rmtree(folder)
    return {
        "machine": hardware(trainer.device),
        "device": trainer.device.type,
        "commit": commit(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "precision": str(trainer.precision).removeprefix("torch."),
        "recorded": trainer.recorded,
        "losses": [round(line["loss"], 4) for line in log],
        "updates": trainer.step,
        "seconds": round(trainer.seconds, 2),
        "tokens_per_second": round(log[-1]["tokens_per_second"]),
        "peak_memory_mb": trainer.peak_memory >> 20,
    }


def choose(ways: dict[str, dict]) -> str:
    """The fastest way that works; a recorded one only if it computes the same.

    Args:
        ways: The results of those that worked, by their names.

    Raises:
        ValueError: If none did.
    """
    pair = [ways.get(name, {}).get("losses", []) for name in ("graphs", "shapes")]
    both = [*zip(*pair, strict=False)]
    both = both[: len(both) // 2 + 1]  # later, rounding has grown
    same = both and all(abs(a - b) <= TOLERANCE for a, b in both)
    trusted = {n: way for n, way in ways.items() if same or not n.startswith("graphs")}
    if not trusted:
        raise ValueError("no way of training works here; read the logs in smoke/")
    return max(trusted, key=lambda name: trusted[name]["tokens_per_second"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Train in one way, and write what came out.

    Args:
        arguments: By default those of the command line: a folder, the config, its
            changes, and the file for the result.
    """
    folder, name, *entries, file = sys.argv[1:] if arguments is None else arguments
    set_threads()
    values = short_run(Path(folder), name, entries)
    write_whole(Path(file), json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
