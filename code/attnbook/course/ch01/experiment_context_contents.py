"""Which source words does the context hold? Three models of chapter 1, five seeds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import torch
from torch import nn

from attnbook.analysis.occlusion import context_changes
from attnbook.course.kit.experiments import experiment
from attnbook.models.narrow_context import NarrowContext
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.language import AND, KINDS, Pair, kind_of
from attnbook.toy.training import LEARNING_RATE, STEPS, train_toy_model

SEEDS = (0, 1, 2, 3, 4)
SENTENCES, CLAUSES = 64, 2
MODELS = {
    "initial_state": InitialState,
    "static_narrow": NarrowContext,
    "static_last": StaticContext,
}


@experiment
def context_contents() -> dict:
    """Train the models on the toy task, and replace source words by others.

    Returns:
        "runs": for each model and seed "changes": by the kind of word, the mean change
        of the encoder's context in each clause. The model "untrained" is the encoder
        that they start from.
    """
    pairs, runs = held_out_pairs(CLAUSES, SENTENCES), []
    for seed in SEEDS:
        torch.manual_seed(seed)
        models = {"untrained": InitialState(len(SOURCE), len(TARGET))}
        for name, make in MODELS.items():
            models[name], _ = train_toy_model(make, seed)
        for name, model in models.items():
            changes = changes_by_kind(model.encoder, pairs)
            runs.append({"model": name, "seed": seed, "changes": changes})
            print(f"  {runs[-1]}", flush=True)
    about = {"steps": STEPS, "rate": LEARNING_RATE}
    return {"sentences": SENTENCES, "clauses": CLAUSES, **about, "runs": runs}


def changes_by_kind(
    encoder: nn.Module, pairs: Sequence[Pair]
) -> dict[str, list[float]]:
    """Means of ``context_changes`` by kind and clause."""
    clauses = range(pairs[0].clauses)
    found = {kind: [[] for _ in clauses] for kind in KINDS}
    for pair in pairs:
        changes = context_changes(encoder, pair)[:, 0].tolist()  # (S,)
        for j, word in enumerate(pair.source):
            if kind := kind_of(word):
                found[kind][pair.source[:j].count(AND)].append(changes[j])
    return {kind: [round(fmean(x), 3) for x in of] for kind, of in found.items()}
