"""What limits the translators without attention: the vector, or the training?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from attnbook.analysis.probes import fit_probe
from attnbook.core.vocabulary import EOS
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.toy.data import (
    CLAUSES,
    SOURCE,
    TARGET,
    held_out_pairs,
    make_batch,
    toy_batches,
)
from attnbook.toy.language import AND_TARGET, NOUNS, VERBS, Pair
from attnbook.toy.metrics import exact_match, greedy_translations
from attnbook.toy.training import LEARNING_RATE, STEPS, fit, train_toy_model
from experiments.registry import experiment

# The same vector at a larger learning rate or for longer, read at every step and once

for name, model, rate, times in (
    ("static_last_faster", StaticContext, 8e-3, 1),
    ("static_last_faster_longer", StaticContext, 8e-3, 3),
    ("static_last_ten_times", StaticContext, LEARNING_RATE, 10),
    ("static_last_thirty_times", StaticContext, LEARNING_RATE, 30),
    ("initial_state_faster", InitialState, 8e-3, 1),
    ("initial_state_faster_longer", InitialState, 8e-3, 3),
    ("initial_state_thirty_times", InitialState, LEARNING_RATE, 30),
):
    run = partial(train_and_measure, model, steps=times * STEPS, seeds=THREE_SEEDS)
    experiment(partial(run, learning_rate=rate), name)


# Does the sentence go on? And what does the vector hold?

PROBED: dict[str, Callable[[Pair], str]] = {
    "first verb": lambda pair: _words(pair, VERBS)[0],
    "second verb": lambda pair: _words(pair, VERBS)[1],
    "last noun": lambda pair: _words(pair, NOUNS)[-1],
}
"""Words of two clauses that a linear probe looks for in the vector."""


@experiment
def sentence_goes_on() -> dict:
    """Train the translator with an initial state; ask what it knows of its source.

    Returns:
        "runs": for each seed "connective" and "end", the mean probabilities after a
        correct first clause, by the number of clauses of the source; "clauses", how
        many of 512 outputs for two clauses have one, two … clauses; "probes", the
        accuracy of linear probes of the vector, "trained" and "untrained".
    """
    runs = []
    for seed in THREE_SEEDS:
        torch.manual_seed(seed)
        untrained = InitialState(len(SOURCE), len(TARGET))
        model, _ = train_toy_model(InitialState, seed)
        found = {n: after_first_clause(model, held_out_pairs(n)) for n in CLAUSES}
        outputs = greedy_translations(model, held_out_pairs(2))
        lengths = [output.count(AND_TARGET) + 1 for output in outputs]
        run = {
            "seed": seed,
            "connective": {n: round(p[0], 3) for n, p in found.items()},
            "end": {n: round(p[1], 3) for n, p in found.items()},
            "clauses": {n: lengths.count(n) for n in sorted({*lengths})},
            "probes": {
                "trained": probe_vector(model.encoder),
                "untrained": probe_vector(untrained.encoder),
            },
        }
        runs.append(run)
        print(f"  {run}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "runs": runs}


@torch.no_grad()
def after_first_clause(model: nn.Module, pairs: Sequence[Pair]) -> tuple[float, float]:
    """Mean probabilities of the connective and of EOS after a correct first clause."""
    batch = make_batch(pairs)
    p = model(batch.src, batch.tgt_in).softmax(-1)  # (B, T, V)
    places = [(*pair.target, AND_TARGET).index(AND_TARGET) for pair in pairs]
    rows = p[torch.arange(len(pairs)), places]  # (B, V)
    connective = TARGET.encode([AND_TARGET])[0]
    return rows[:, connective].mean().item(), rows[:, EOS].mean().item()


@torch.no_grad()
def probe_vector(encoder: nn.Module) -> dict[str, float]:
    """Accuracy of linear probes of the encoder's vector for words of two clauses."""
    fitted, tested = held_out_pairs(2, 2000, seed=54321), held_out_pairs(2)
    vectors = [encoder(make_batch(pairs).src)[1] for pairs in (fitted, tested)]
    return {
        name: _accuracy(*vectors, [*map(word, fitted)], [*map(word, tested)])
        for name, word in PROBED.items()
    }


def _accuracy(
    x: Tensor, other: Tensor, words: Sequence[str], others: Sequence[str]
) -> float:
    ids = {word: i for i, word in enumerate(sorted({*words}))}
    probe = fit_probe(x, torch.tensor([ids[word] for word in words]))
    right = torch.tensor([ids[word] for word in others])
    return round((probe.predict(other) == right).float().mean().item(), 3)


def _words(pair: Pair, kind: dict[str, str]) -> list[str]:
    return [word for word in pair.source if word in kind]


# Encoder or decoder?


@experiment
def exchanged_encoders() -> dict:
    """Train new decoders on the frozen encoder of the other kind of translator.

    Returns:
        "runs": for each seed, kind of "decoder" and of the frozen "encoder" the "exact"
        match on one clause and on two.
    """
    kinds = {"static context": StaticContext, "initial state": InitialState}
    runs = []
    for seed in THREE_SEEDS:
        whole = {name: train_toy_model(kind, seed)[0] for name, kind in kinds.items()}
        for decoder, encoder in (tuple(kinds), tuple(kinds)[::-1]):
            torch.manual_seed(seed + 100)
            model = kinds[decoder](len(SOURCE), len(TARGET))
            model.encoder = copy.deepcopy(whole[encoder].encoder).requires_grad_(False)
            fit(model, toy_batches(seed + 100), STEPS, LEARNING_RATE)
            exact = [round(exact_match(model, held_out_pairs(n)), 4) for n in (1, 2)]
            about = {"seed": seed, "decoder": decoder, "encoder": encoder}
            runs.append({**about, "exact": exact})
            print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "runs": runs}
