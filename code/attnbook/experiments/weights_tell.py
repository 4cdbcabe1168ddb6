"""Do attention weights tell what an answer depends on? Two models, three seeds."""

from __future__ import annotations

from statistics import fmean

import torch
from torch import Tensor, nn

from attnbook.bahdanau import Bahdanau
from attnbook.batches import held_out_pairs
from attnbook.experiments.thread import train
from attnbook.maps import cross_weights
from attnbook.measures import attention_weights
from attnbook.removal import hiding_effects as hide_from_bahdanau
from attnbook.removal import replacing_effects
from attnbook.toy_language import Pair
from attnbook.toy_models import toy_transformer
from attnbook.weight_effects import (
    agreement,
    encoder_effects,
    encoder_weights,
    hiding_effects,
)

SEEDS = (0, 1, 2)
SENTENCES, CLAUSES = 40, 2
Table = tuple[Tensor, Tensor]  # weights and effects, of one shape


def weights_tell() -> dict:
    """Train both models as the thread does, and compare weights with effects.

    Returns:
        "runs": for each model and seed, by the name of what was done, the mean over
        sentences of the "correlation" and of the share of rows "first" in both.
    """
    pairs, runs = held_out_pairs(CLAUSES, SENTENCES), []
    for name, make, tables in (
        ("transformer", toy_transformer, of_transformer),
        ("bahdanau", Bahdanau, of_bahdanau),
    ):
        for seed in SEEDS:
            model, _ = train(make, seed)
            found = compare([tables(model, pair) for pair in pairs])
            runs.append({"model": name, "seed": seed, **found})
            print(f"  {runs[-1]}", flush=True)
    return {"sentences": SENTENCES, "clauses": CLAUSES, "runs": runs}


def compare(tables: list[dict[str, Table]]) -> dict[str, dict[str, float]]:
    """Average what :func:`~attnbook.weight_effects.agreement` says over sentences."""
    means = {}
    for name in tables[0]:
        pairs = [agreement(*of_one[name]) for of_one in tables]
        correlation, first = (
            round(fmean(side), 3) for side in zip(*pairs, strict=True)
        )
        means[name] = {"correlation": correlation, "first": first}
    return means


def of_transformer(model: nn.Module, pair: Pair) -> dict[str, Table]:
    """Weights and effects in a Transformer: of its decoder's look, and its encoder."""
    weights, words = cross_weights(model, [pair])[0], rendering(pair)
    return {
        "hidden": (weights[words], hiding_effects(model, pair)[words]),
        "replaced": (weights[words], replacing_effects(model, pair)[words]),
        "encoder": (
            encoder_weights(model, pair)[:-1],
            encoder_effects(model, pair)[:-1],
        ),
    }


@torch.no_grad()
def of_bahdanau(model: nn.Module, pair: Pair) -> dict[str, Table]:
    """The same of the model of Bahdanau et al., whose encoder has no weights."""
    weights, words = attention_weights(model, [pair])[0], rendering(pair)
    return {
        "hidden": (weights[words], hide_from_bahdanau(model, pair)[words]),
        "replaced": (weights[words], replacing_effects(model, pair)[words]),
    }


def rendering(pair: Pair) -> list[int]:
    """The target places that render a source word."""
    return [i for i, j in enumerate(pair.alignment) if j is not None]
