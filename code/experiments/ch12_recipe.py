"""Chapter 12: the shipped recipe with one thing left out, and a quicker recipe."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from attnbook.core.divergence import DivergedError
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.translation import trainer
from attnbook.translation.configs import Config, config
from attnbook.translation.run_folder import LOG, read_metrics
from attnbook.translation.schedules import learning_rate
from experiments.registry import sweep

EPOCHS = 5
SHIPPED = "multi30k-cpu"


def at_once(run: Config, step: int, updates: int) -> float:
    """The learning rate without its rise: at the peak until the warm-up would end."""
    return learning_rate(run, max(step, run.warmup), updates)


@sweep(seed=(0, 1, 2), epochs=EPOCHS)
def without_warm_up(seed: int) -> dict:
    """Train the shipped translator with the highest learning rate from the first step.

    Returns:
        The validation "loss" and greedy "bleu" after each epoch.
    """
    with patch.object(trainer, "learning_rate", at_once):
        return by_epoch(SHIPPED, seed=seed, max_epochs=EPOCHS)


@sweep(rate=(1e-3,), seed=0, epochs=EPOCHS)
def without_scaling(rate: float) -> dict:
    """Train it without the division by √d_k at a quarter of the learning rate.

    Returns:
        The validation "loss" and greedy "bleu" after each epoch.
    """
    about = {"seed": 0, "max_epochs": EPOCHS, "peak_learning_rate": rate}
    return by_epoch(SHIPPED, scaled=False, **about)


@sweep(seed=(0, 1, 2))
def quick_recipe(seed: int) -> dict:
    """Train the same model in a third of the time, with the config ``multi30k-quick``.

    Returns:
        The validation "loss" and greedy "bleu" after each epoch, and the "seconds" of
        processor time of the whole run, on one thread.
    """
    began = time.process_time()
    found = by_epoch("multi30k-quick", seed=seed)
    return found | {"seconds": round(time.process_time() - began)}


def by_epoch(
    name: str, *, scaled: bool = True, **changes: object
) -> dict[str, list[float]]:
    """Train a translator in fp32, in a folder that is deleted.

    The lists are shorter if the run diverges.

    Args:
        name: Of a config.
        scaled: Whether the scores are divided by √d_k.
        changes: Entries of the config.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        about = config(name, precision="fp32", **changes)
        run = trainer.Trainer(about, folder, "cpu")
        stack.callback(run.close)
        if not scaled:
            for module in run.model.modules():
                if isinstance(module, MultiHeadAttention):
                    module.scale = 1.0
        with suppress(DivergedError):
            run.train()
        log = [x for x in read_metrics(Path(folder, LOG)) if "validation_loss" in x]
    return {
        entry: [round(line[f"validation_{entry}"], digits) for line in log]
        for entry, digits in (("loss", 4), ("bleu", 2))
    }
