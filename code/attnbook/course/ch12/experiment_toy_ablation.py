"""Ablation of the Transformer and its training on the toy language."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

from attnbook.course.kit.experiments import experiment
from attnbook.toy.data import held_out_pairs
from attnbook.translation.configs import config
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import Trainer

SEEDS = (0, 1, 2)
EPOCHS = 6
N_SENTENCES = 256
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
"""Changes of the config "toy"; a variant is a model without a part."""


def train_variant(change: dict, seed: int, epochs: int = EPOCHS) -> Trainer:
    """Train the toy config with some entries changed."""
    run = config("toy", seed=seed, max_epochs=epochs, **change)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(run, Path(folder))
        trainer.train()
        trainer.close()  # its lock, before the folder is deleted
    return trainer


def greedy_exact_match(
    trainer: Trainer, clauses: int, number: int = N_SENTENCES
) -> float:
    """Exact match of greedy decoding on unseen sentences."""
    pairs = held_out_pairs(clauses, number)
    sources = [" ".join(pair.source) for pair in pairs]
    trainer.model.eval()
    outputs = beam_translate(trainer.model, trainer.subwords, sources, width=1)
    references = (" ".join(pair.target) for pair in pairs)
    return sum(o == r for o, r in zip(outputs, references, strict=True)) / number


@experiment
def toy_ablation() -> dict:
    """Train each variant with three seeds, all for as many epochs.

    Returns:
        "runs": for each change and seed the validation loss in nats per subword, exact
        match on sentences of one and of two clauses, and the numbers of parameters and
        updates.
    """
    runs = []
    for name, seed in product(CHANGES, SEEDS):
        found = measure_variant(CHANGES[name], seed)
        runs.append({"change": name, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"epochs": EPOCHS, "sentences": N_SENTENCES, "runs": runs}


def measure_variant(change: dict, seed: int) -> dict:
    """Train one variant, and evaluate it."""
    trainer = train_variant(change, seed)
    return {
        "validation_loss": round(trainer.validation_loss(), 4),
        "exact": {str(n): round(greedy_exact_match(trainer, n), 4) for n in (1, 2)},
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "updates": trainer.step,
    }
