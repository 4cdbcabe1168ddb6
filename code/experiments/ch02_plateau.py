"""The plateau before Bahdanau's model learns where to attend, over several seeds."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attnbook.analysis.learning_to_attend import AttentionSnapshot, watched
from attnbook.models.bahdanau import Bahdanau
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, toy_batches
from attnbook.toy.training import LEARNING_RATE, STEPS, fit
from experiments.registry import experiment

UNTIL = 300
"""Number of updates before the last snapshot; later little changes."""


@experiment
def plateau(seeds: Sequence[int] = (0, 1, 2, 3, 4)) -> dict:
    """Train Bahdanau models, and take a snapshot every ten updates.

    Returns:
        "runs": for each seed the "log", one list of numbers per snapshot in the order
        of "fields", on 64 sentences of two clauses.
    """
    runs, pairs = [], held_out_pairs(clauses=2, number=64)
    for seed in seeds:
        torch.manual_seed(seed)
        model, log = Bahdanau(len(SOURCE), len(TARGET)), []
        batches = watched(toy_batches(seed), model, pairs, log, until=UNTIL)
        fit(model, batches, STEPS, LEARNING_RATE)
        rounded = [[round(x, 4) for x in snapshot] for snapshot in log]
        runs.append({"seed": seed, "log": rounded})
        print(f"  seed {seed}: after {UNTIL} steps {log[-1].alignment:.1%} aligned")
    about = {"steps": STEPS, "rate": LEARNING_RATE}
    return {**about, "fields": AttentionSnapshot._fields, "runs": runs}
