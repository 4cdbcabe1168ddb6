"""Chapter 12: the shipped recipe with one thing left out, and a quicker recipe."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from attnbook.core.divergence import DivergedError
from attnbook.data.batching import target_tokens
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.translation import trainer
from attnbook.translation.configs import Config, changed, config
from attnbook.translation.run_folder import LOG, read_metrics
from attnbook.translation.schedules import learning_rate
from experiments.ch11_minutes import EVERY, ROUNDS, speed
from experiments.registry import experiment, sweep

EPOCHS, FEW_EPOCHS = 5, 4
SHIPPED, QUICK = "multi30k-cpu", "multi30k-quick"
DIGITS = {"loss": 4, "bleu": 2}


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
    """Train the same model in 40 % of the time, with the config ``multi30k-quick``.

    Returns:
        The validation "loss" and greedy "bleu" and "chrf" after each epoch.
    """
    return by_epoch(QUICK, DIGITS | {"chrf": 2}, seed=seed)


WITHOUT = {
    "nothing": {},
    "the schedule": {"warmup": 800},
    "Muon": {"optimizer": "adam", "peak_learning_rate": 4e-3},
}
"""What of the quick recipe is as in the shipped one."""


@sweep(without=WITHOUT, seed=0, epochs=FEW_EPOCHS)
def quick_without(without: str) -> dict:
    """Train with all changes of the quick recipe but one.

    Returns:
        The validation "loss" and greedy "bleu" after each epoch.
    """
    whose = "adam" if without == "the schedule" else "muon"

    def schedule(run: Config, step: int, updates: int) -> float:
        return learning_rate(changed(run, optimizer=whose), step, updates)

    with patch.object(trainer, "learning_rate", schedule):
        return by_epoch(QUICK, max_epochs=FEW_EPOCHS, **WITHOUT[without])


@experiment
def quick_speeds() -> dict:
    """Time updates of both recipes in fp32 on one thread, in turns.

    Returns:
        The target "tokens" of an epoch, and by recipe those trained per second of
        processor time in each round.
    """
    with ExitStack() as stack:
        runs = {}
        for name in (SHIPPED, QUICK):
            folder = stack.enter_context(TemporaryDirectory())
            runs[name] = trainer.Trainer(config(name, precision="fp32"), folder, "cpu")
            stack.callback(runs[name].close)
        updates = runs[QUICK].updates_of(0)
        speeds = [
            {name: speed(run, updates[::EVERY]) for name, run in runs.items()}
            for _ in range(ROUNDS)
        ]
    tokens = sum(map(target_tokens, updates))
    return {"tokens": tokens, "tokens_per_second": speeds}


def by_epoch(
    name: str, digits: dict = DIGITS, *, scaled: bool = True, **changes: object
) -> dict[str, list[float]]:
    """Train a translator in fp32, in a folder that is deleted.

    The lists are shorter if the run diverges.

    Args:
        name: Of a config.
        digits: What to return of each epoch's validation, and with how many decimals.
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
        entry: [round(line[f"validation_{entry}"], places) for line in log]
        for entry, places in digits.items()
    }
