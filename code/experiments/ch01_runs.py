"""Chapter 1's experiments: translators of the toy language, their context, recall."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean

import torch
from torch import nn

from attnbook.analysis.occlusion import context_changes
from attnbook.course.ch01.explorer_context_contents import SENTENCES as EXPLORED
from attnbook.course.ch01.explorer_context_contents import halves_changed
from attnbook.course.kit.toy_translation import SEEDS, THREE_SEEDS, train_and_measure
from attnbook.models.narrow_context import NarrowContext
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, reverse_source
from attnbook.toy.language import AND, KINDS, Pair, kind_of, translate_by_rule
from attnbook.toy.models import load_toy_model
from attnbook.toy.recall_task import train_recall
from attnbook.toy.training import LEARNING_RATE, STEPS, train_toy_model
from experiments.registry import experiment

# Translators: equal steps, more steps, more width

static_mean = partial(StaticContext, summary="mean")
one_way = partial(InitialState, bidirectional=False)
three_seeds = partial(train_and_measure, seeds=THREE_SEEDS)

experiment(partial(train_and_measure, InitialState), "initial_state")
experiment(partial(train_and_measure, StaticContext), "static_last")
experiment(partial(train_and_measure, static_mean), "static_mean")
experiment(partial(train_and_measure, NarrowContext), "static_narrow")

for name, model in (("initial_state", InitialState), ("static_last", StaticContext)):
    experiment(partial(three_seeds, model, steps=2100), f"{name}_longer")
    experiment(partial(three_seeds, partial(model, d_hidden=192)), f"{name}_wider")

# A unidirectional encoder, and the same with the source reversed.
experiment(partial(three_seeds, one_way), "one_way")
experiment(partial(three_seeds, one_way, transform=reverse_source), "one_way_reversed")


# Which source words does the context hold?

SENTENCES, CLAUSES = 64, 2
MODELS = {
    "initial_state": InitialState,
    "static_narrow": NarrowContext,
    "static_last": StaticContext,
}


@experiment
def context_contents() -> dict:
    """Replace source words, before and after training: how far does c move?"""
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


@experiment
def context_sentences() -> dict:
    """Changes of both halves of the context by word, for the explorer's sentences."""
    torch.manual_seed(0)
    untrained = InitialState(len(SOURCE), len(TARGET))
    initial_state, _ = train_toy_model(InitialState, 1)
    models = {
        "untrained": untrained,
        "initial state, trained": initial_state,
        "static context, trained": load_toy_model("static_context"),
    }
    changes = {}
    for sentence in EXPLORED:
        found = halves_changed(models, translate_by_rule(sentence))
        changes[sentence] = {
            name: [None if row.isnan().any() else row.tolist() for row in rounded]
            for name, rounded in ((n, of.round(decimals=2)) for n, of in found.items())
        }
    return {"steps": STEPS, "rate": LEARNING_RATE, "changes": changes}


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


# How long does a recurrent network remember its first input?

LENGTHS = (4, 8, 16, 32)


@experiment("recall")
def recall_grid() -> dict:
    """RNN and GRU, trained on one length and on mixed lengths."""
    trainings = [(str(n), (n,), steps) for steps in (300, 1500) for n in LENGTHS]
    trainings.append(("mixed", LENGTHS, 1500))
    runs = []
    for kind in ("rnn", "gru"):
        for trained_on, lengths, steps in trainings:
            for seed in THREE_SEEDS:
                about = dict(kind=kind, trained_on=trained_on, steps=steps, seed=seed)
                found = train_recall(kind, lengths, steps, seed)
                runs += [{**about, **run} for run in found]
                shares = ", ".join(f"{100 * run['first']:.0f}" for run in found)
                print(f"  {about}: first {shares} %", flush=True)
    return {"runs": runs}
