"""Chapter 1: translators of the toy language and what their vector holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor, nn

from attnbook.analysis.probes import fit_probe
from attnbook.core.vocabulary import EOS
from attnbook.course.ch01.narrow_context import NarrowContext
from attnbook.course.kit.toy_translation import SEEDS, THREE_SEEDS, train_and_measure
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.toy.data import (
    CLAUSES,
    SOURCE,
    TARGET,
    held_out_pairs,
    make_batch,
    reverse_source,
    toy_batches,
)
from attnbook.toy.language import (
    AND_TARGET,
    KINDS,
    NOUNS,
    VERBS,
    Pair,
    kind_of,
)
from attnbook.toy.metrics import correct_tokens, exact_match, greedy_translations
from attnbook.toy.training import LEARNING_RATE, STEPS, fit, train_toy_model
from experiments.registry import experiment, sweep

# Translators: equal steps, more width, more steps, another learning rate

static_mean = partial(StaticContext, summary="mean")
one_way = partial(InitialState, bidirectional=False)
three_seeds = partial(train_and_measure, seeds=THREE_SEEDS)

experiment(partial(train_and_measure, InitialState), "initial_state")
experiment(partial(train_and_measure, StaticContext), "static_last")
experiment(partial(train_and_measure, static_mean), "static_mean")
experiment(partial(train_and_measure, NarrowContext), "static_narrow")

for name, make in (("initial_state", InitialState), ("static_last", StaticContext)):
    experiment(partial(three_seeds, partial(make, d_hidden=192)), f"{name}_wider")

# A unidirectional encoder, and the same with the source reversed.
experiment(partial(three_seeds, one_way), "one_way")
experiment(partial(three_seeds, one_way, transform=reverse_source), "one_way_reversed")

# What limits the translators: the vector, or the training?
for name, make, rate, times in (
    ("initial_state_longer", InitialState, LEARNING_RATE, 3),
    ("initial_state_thirty_times", InitialState, LEARNING_RATE, 30),
    ("initial_state_slower_longer", InitialState, 2e-3, 4),
    ("initial_state_faster", InitialState, 8e-3, 1),
    ("initial_state_faster_longer", InitialState, 8e-3, 3),
    ("static_last_longer", StaticContext, LEARNING_RATE, 3),
    ("static_last_ten_times", StaticContext, LEARNING_RATE, 10),
    ("static_last_thirty_times", StaticContext, LEARNING_RATE, 30),
    ("static_last_faster", StaticContext, 8e-3, 1),
    ("static_last_faster_longer", StaticContext, 8e-3, 3),
):
    run = partial(three_seeds, make, steps=times * STEPS, learning_rate=rate)
    experiment(run, name)

# Width, steps and a smaller learning rate together, with seeds of their own.
for name, make, times in (
    ("initial_state_wider_longer", InitialState, 4),
    ("static_last_wider_slower", StaticContext, 1),
):
    settings = {"steps": times * STEPS, "seeds": (1, 2, 3), "learning_rate": 2e-3}
    wide = partial(make, d_hidden=192)
    experiment(partial(train_and_measure, wide, **settings), name)


# Which words of one clause go wrong?


@sweep(seed=SEEDS, steps=STEPS, rate=LEARNING_RATE)
def lost_words(seed: int) -> dict:
    """Train the translator with an initial state; which words of a clause are wrong?

    Returns:
        "right", the token accuracy of each kind of word under teacher forcing, and
        "wrong", the share of the wrong words that are of this kind.
    """
    pairs = held_out_pairs(1)
    correct, _ = correct_tokens(translator("initial_state", seed), pairs)
    return right_and_wrong(correct.tolist(), pairs)


def right_and_wrong(correct: Sequence[Sequence[bool]], pairs: Sequence[Pair]) -> dict:
    """Accuracy of each kind of word of one clause, and its share of the wrong words."""
    found: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    for row, pair in zip(correct, pairs, strict=True):
        for hit, j in zip(row, pair.alignment, strict=False):  # EOS has no alignment
            found[kind_of(pair.source[j])].append(hit)
    wrong = {kind: hits.count(False) for kind, hits in found.items()}
    return {
        "right": {kind: round(fmean(hits), 3) for kind, hits in found.items()},
        "wrong": {
            kind: round(of / sum(wrong.values()), 3) for kind, of in wrong.items()
        },
    }


# Does the sentence go on? And what does the vector hold?

MODELS = {"initial_state": InitialState, "static_last": StaticContext}


def translator(name: str, seed: int) -> nn.Module:
    """A translator, trained ("…_longer": three times as long) or "untrained"."""
    if name == "untrained":
        torch.manual_seed(seed)
        return InitialState(len(SOURCE), len(TARGET))
    steps = 3 * STEPS if name.endswith("_longer") else STEPS
    return train_toy_model(MODELS[name.removesuffix("_longer")], seed, steps)[0]


PROBED: dict[str, Callable[[Pair], str]] = {
    "first verb": lambda pair: _words(pair, VERBS)[0],
    "second verb": lambda pair: _words(pair, VERBS)[1],
    "last noun": lambda pair: _words(pair, NOUNS)[-1],
}
"""Words of two clauses that a linear probe looks for in the vector."""


@sweep(
    model=("initial_state", "initial_state_longer"),
    seed=THREE_SEEDS,
    steps=STEPS,
    rate=LEARNING_RATE,
)
def sentence_goes_on(seed: int, model: str) -> dict:
    """Train the translator with an initial state; ask what it knows of its source.

    Returns:
        "connective" and "end", the mean probabilities after a correct first clause, by
        the number of clauses of the source; "clauses", how many of 512 outputs for two
        clauses have one, two … clauses; "probes", the accuracy of linear probes of the
        vector, "trained" and "untrained".
    """
    untrained, trained = translator("untrained", seed), translator(model, seed)
    found = {str(n): after_first_clause(trained, held_out_pairs(n)) for n in CLAUSES}
    outputs = greedy_translations(trained, held_out_pairs(2))
    lengths = [output.count(AND_TARGET) + 1 for output in outputs]
    return {
        "connective": {n: round(p[0], 3) for n, p in found.items()},
        "end": {n: round(p[1], 3) for n, p in found.items()},
        "clauses": {str(n): lengths.count(n) for n in sorted({*lengths})},
        "probes": {
            "trained": probe_vector(trained.encoder),
            "untrained": probe_vector(untrained.encoder),
        },
    }


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


@sweep(
    seed=THREE_SEEDS,
    encoder=("untrained", "initial_state", "initial_state_longer", "static_last"),
    steps=STEPS,
    rate=LEARNING_RATE,
)
def exchanged_encoders(seed: int, encoder: str) -> dict:
    """Train new decoders of both kinds on a frozen encoder.

    Returns:
        "exact", for each kind of decoder the exact match on one clause and on two.
    """
    frozen = translator(encoder, seed).encoder.requires_grad_(False)
    decoders = ("initial_state", "static_last")
    return {"exact": {kind: new_decoder(kind, frozen, seed + 100) for kind in decoders}}


def new_decoder(kind: str, encoder: nn.Module, seed: int) -> list[float]:
    """Train a decoder on a frozen encoder: its exact match on one clause and on two."""
    torch.manual_seed(seed)
    model = MODELS[kind](len(SOURCE), len(TARGET))
    model.encoder = encoder
    fit(model, toy_batches(seed), STEPS, LEARNING_RATE)
    return [round(exact_match(model, held_out_pairs(n)), 4) for n in (1, 2)]
