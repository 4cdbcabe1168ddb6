"""How fast a processor trains and decodes: our models and others, in turns.

``python benchmarks/processor_speeds.py`` stores the result that the pages read.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import torch
from torch import nn

from attnbook.core import results
from attnbook.core.threads import set_threads
from attnbook.data.batching import Batch
from attnbook.nn.losses import label_smoothing_loss
from attnbook.nn.masks import padding_mask
from attnbook.translation.configs import config
from attnbook.translation.devices import choose_precision
from attnbook.translation.models import model_from_config
from gpu import LADDER
from speed.report import measure_speeds
from speed.training_speed import WORKS, Method, make_batches, timed_seconds

CPU = torch.device("cpu")
WORK = "cpu"  # the batches of the config multi30k-cpu
ROUNDS = 5


def processor_speeds() -> dict:
    """Measure training and decoding on one thread, with nothing else running.

    Returns:
        "methods" and "decoding": the rows of ``benchmarks/train_speed.py``;
        "models": by model of the comparison the precision that it chooses, and
        target tokens per second of its training.
    """
    *_, speeds = measure_speeds(WORK, ("eager", "decoding"), CPU, ROUNDS)
    return {
        "methods": speeds["eager"],
        "decoding": speeds["decoding"],
        "versions": speeds["versions"],
        "models": model_speeds(),
    }


def model_speeds() -> dict[str, dict]:
    """Measure the models of the comparison in turns, on the same batches."""
    batches = make_batches(Method("models", padded=False), WORKS[WORK], CPU)
    tokens = sum(padding_mask(batch.tgt_out).sum().item() for batch in batches)
    runs = {name: Updates(name, batches) for name in LADDER}
    seconds: dict[str, list[float]] = {name: [] for name in LADDER}
    for run in runs.values():
        run.one_epoch()  # not timed
    for _ in range(ROUNDS):
        for name, run in runs.items():
            seconds[name].append(timed_seconds(run.one_epoch, CPU))
    return {
        name: {
            "precision": str(run.precision).removeprefix("torch."),
            "tokens_per_second": round(tokens / median(seconds[name])),
        }
        for name, run in runs.items()
    }


class Updates:
    """Training updates of one model of the comparison, as the trainer makes them.

    Args:
        name: One of ``LADDER``.
        batches: What to train on, again and again.
    """

    def __init__(self, name: str, batches: list[Batch]):
        made = config("multi30k-cpu", **LADDER[name])
        self.precision = choose_precision(
            made.precision, CPU, recurrent=made.model != "transformer"
        )
        torch.manual_seed(0)
        vocab_size = WORKS[WORK].config.source_vocab_size
        self.model = model_from_config(made, vocab_size).train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)
        self.batches = batches

    def one_epoch(self) -> None:
        """Make an update on each batch."""
        for src, tgt_in, tgt_out in self.batches:
            low = self.precision != torch.float32
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                losses = label_smoothing_loss(self.model(src, tgt_in), tgt_out)
            self.optimizer.zero_grad()
            (losses.sum() / padding_mask(tgt_out).sum()).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()


def main() -> None:
    """Measure, and store the result."""
    set_threads()
    start = time.process_time()
    values = processor_speeds()
    seconds = time.process_time() - start
    command = "python benchmarks/processor_speeds.py"
    folder = Path(str(results.FOLDER))
    results.save("processor_speeds", values, seconds, folder, command)


if __name__ == "__main__":
    main()
