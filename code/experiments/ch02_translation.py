"""Chapter 2's translator on the toy language, and its attention held uniform first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import torch

from attnbook.analysis.occlusion import bahdanau_hiding_effects
from attnbook.course.kit.toy_translation import measure_translation, train_and_measure
from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, toy_batches
from attnbook.toy.training import LEARNING_RATE, STEPS, fit
from experiments.registry import experiment

experiment(partial(train_and_measure, Bahdanau), "bahdanau")

HELD_STEPS = 150
"""Number of steps for which the attention weights are held uniform."""


def hold_uniform(
    batches: Iterable[Batch], model: Bahdanau, held: int
) -> Iterator[Batch]:
    """Pass batches on, and keep the attention uniform for the first ``held`` steps.

    With v = 0 all scores are 0. Afterwards v gets back its initial values.
    """
    v = model.score.v.weight
    initial = v.detach().clone()
    for step, batch in enumerate(batches):
        if step == 0 < held:
            v.data.zero_()
            v.requires_grad_(False)
        elif step == held > 0:
            v.data.copy_(initial)
            v.requires_grad_(True)
        yield batch


@experiment
def late_attention(seeds: Sequence[int] = (0, 1, 2)) -> dict:
    """Train Bahdanau models as usual, and with attention held uniform at first."""
    runs = []
    for held in (0, HELD_STEPS):
        for seed in seeds:
            torch.manual_seed(seed)
            model = Bahdanau(len(SOURCE), len(TARGET))
            batches = hold_uniform(toy_batches(seed), model, held)
            fit(model, batches, STEPS, LEARNING_RATE)
            found = measure_translation(model, transform=lambda pair: pair)
            hidden = hidden_quantiles(model)
            runs.append({"held": held, "seed": seed, **found, "hidden": hidden})
            print(f"  held {held}, seed {seed}: {found['exact']} {found['align']}")
    return {"steps": STEPS, "rate": LEARNING_RATE, "runs": runs}


def hidden_quantiles(model: Bahdanau) -> list[float]:
    """Drop of log p in nats if each rendered word is hidden: 5 %, 50 %, 95 %."""
    drops = []
    for pair in held_out_pairs(2, 30):
        effects = bahdanau_hiding_effects(model, pair)  # (T, S)
        aligned = enumerate(pair.alignment)
        drops += [effects[t, j].item() for t, j in aligned if j is not None]
    levels = torch.tensor([0.05, 0.5, 0.95])
    return [round(x, 3) for x in torch.tensor(drops).quantile(levels).tolist()]
