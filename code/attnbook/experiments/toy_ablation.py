"""What each part of a Transformer and of its training is worth, on the toy language."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

from attnbook.toy.data import held_out_pairs
from attnbook.translation.configs import config
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import Trainer

SEEDS = (0, 1, 2)
EPOCHS = 6
TESTED = 256  # sentences
CHANGES: dict[str, dict] = {
    "as it is": {},
    "1 head": {"n_heads": 1},
    "8 heads": {"n_heads": 8},
    "no scale": {"variant": "no_scale"},
    "no positions": {"variant": "no_positions"},
    "no feed-forward": {"variant": "no_feed_forward"},
    "pre-norm": {"norm_first": True},
    "no smoothing": {"smoothing": 0.0},
    "no dropout": {"dropout": 0.0},
}
"""What is changed in the config "toy"; a variant is a model without a part."""


def learn(change: dict, seed: int, epochs: int = EPOCHS) -> Trainer:
    """Train the toy config with something changed."""
    run = config("toy", seed=seed, max_epochs=epochs, **change)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(run, Path(folder))
        trainer.train()
    return trainer


def faultless(trainer: Trainer, clauses: int, number: int = TESTED) -> float:
    """Share of unseen sentences that greedy decoding translates without a fault."""
    pairs = held_out_pairs(clauses, number)
    sources = [" ".join(pair.source) for pair in pairs]
    trainer.model.eval()
    said = beam_translate(trainer.model, trainer.subwords, sources, width=1)
    right = (" ".join(pair.target) for pair in pairs)
    return sum(s == r for s, r in zip(said, right, strict=True)) / number


def toy_ablation() -> dict:
    """Train each variant with three seeds, all for as many epochs.

    Returns:
        "runs": for each change and seed the validation loss in nats a subword, the
        shares of faultless translations of one and of two clauses, and the numbers of
        parameters and updates.
    """
    runs = []
    for name, seed in product(CHANGES, SEEDS):
        runs.append({"change": name, "seed": seed, **measured(CHANGES[name], seed)})
        print(f"  {runs[-1]}", flush=True)
    return {"epochs": EPOCHS, "sentences": TESTED, "runs": runs}


def measured(change: dict, seed: int) -> dict:
    """Train one variant, and measure it."""
    trainer = learn(change, seed)
    return {
        "validation_loss": round(trainer.validation_loss(), 4),
        "exact": {str(n): round(faultless(trainer, n), 4) for n in (1, 2)},
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "updates": trainer.step,
    }
