"""The same task, solved as well, with another map: attention that may choose late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from attnbook.analysis.occlusion import bahdanau_hiding_effects
from attnbook.data.batching import Batch
from attnbook.experiments.toy_translation import measure
from attnbook.models.bahdanau import Bahdanau
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, toy_batches
from attnbook.toy.training import LEARNING_RATE, STEPS, fit

HELD = 150
"""Steps for which all weights are kept equal."""


def equal_at_first(
    batches: Iterable[Batch], model: Bahdanau, held: int
) -> Iterator[Batch]:
    """Pass batches on; keep all weights equal for ``held`` steps, then set them free.

    With v = 0 all scores are 0. Then v gets back the values it began with.
    """
    v = model.score.v.weight
    begin = v.detach().clone()
    for step, batch in enumerate(batches):
        if step == 0 < held:
            v.data.zero_()
            v.requires_grad_(False)
        elif step == held > 0:
            v.data.copy_(begin)
            v.requires_grad_(True)
        yield batch


def late_attention(seeds: Sequence[int] = (0, 1, 2)) -> dict:
    """Train Bahdanau models as ever, and with weights kept equal at first.

    Returns:
        "runs": for each seed and number of steps held, what the thread's ``measure``
        returns, and "hidden": nats lost when the place of a rendered word is hidden,
        quantiles 5 %, 50 % and 95 % over 30 sentences of two clauses.
    """
    runs = []
    for held in (0, HELD):
        for seed in seeds:
            torch.manual_seed(seed)
            model = Bahdanau(len(SOURCE), len(TARGET))
            batches = equal_at_first(toy_batches(seed), model, held)
            fit(model, batches, STEPS, LEARNING_RATE)
            found = measure(model, change=lambda pair: pair)
            hidden = hidden_quantiles(model)
            runs.append({"held": held, "seed": seed, **found, "hidden": hidden})
            print(f"  held {held}, seed {seed}: {found['exact']} {found['align']}")
    return {"steps": STEPS, "rate": LEARNING_RATE, "runs": runs}


def hidden_quantiles(model: Bahdanau) -> list[float]:
    """Nats lost by hiding the place of each rendered word: 5 %, 50 %, 95 %."""
    lost = []
    for pair in held_out_pairs(2, 30):
        effects = bahdanau_hiding_effects(model, pair)  # (T, S)
        places = [(i, j) for i, j in enumerate(pair.alignment) if j is not None]
        lost += [effects[i, j] for i, j in places]
    levels: Tensor = torch.tensor([0.05, 0.5, 0.95])
    return [round(x, 3) for x in torch.stack(lost).quantile(levels).tolist()]
