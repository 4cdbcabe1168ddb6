"""Do attention weights show what a prediction depends on? Two models, three seeds."""

from __future__ import annotations

from statistics import fmean

import torch
from torch import Tensor, nn

from attnbook.analysis.maps import cross_weights
from attnbook.analysis.occlusion import (
    agreement,
    encoder_effects,
    encoder_weights,
    replacing_effects,
    transformer_hiding_effects,
)
from attnbook.analysis.occlusion import bahdanau_hiding_effects as hide_from_bahdanau
from attnbook.models.bahdanau import Bahdanau
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import attention_weights
from attnbook.toy.models import toy_transformer
from attnbook.toy.training import LEARNING_RATE, STEPS, train_toy_model
from experiments.registry import experiment

SEEDS = (0, 1, 2)
SENTENCES, CLAUSES = 40, 2
WeightsAndEffects = tuple[Tensor, Tensor]  # of one shape


@experiment
def weights_tell() -> dict:
    """Train both models on the toy task, and compare weights with occlusion effects.

    Returns:
        "runs": for each model and seed, by the name of the occlusion, the mean over
        sentences of the rank "correlation" and of the fraction of rows in which the
        maxima agree ("first"); with "_others" in the name, without the source word that
        the target word of the row renders, or the position of the row itself.
    """
    pairs, runs = held_out_pairs(CLAUSES, SENTENCES), []
    for name, make, tables in (
        ("transformer", toy_transformer, transformer_tables),
        ("bahdanau", Bahdanau, bahdanau_tables),
    ):
        for seed in SEEDS:
            model, _ = train_toy_model(make, seed)
            found = mean_agreement([tables(model, pair) for pair in pairs])
            size = sum(p.numel() for p in model.parameters())
            runs.append({"model": name, "seed": seed, "parameters": size, **found})
            print(f"  {runs[-1]}", flush=True)
    about = {"steps": STEPS, "rate": LEARNING_RATE}
    return {"sentences": SENTENCES, "clauses": CLAUSES, **about, "runs": runs}


def mean_agreement(
    tables: list[dict[str, WeightsAndEffects]],
) -> dict[str, dict[str, float]]:
    """Average :func:`~attnbook.analysis.occlusion.agreement` over sentences."""
    means = {}
    for name in tables[0]:
        pairs = [agreement(*of_one[name]) for of_one in tables]
        correlation, first = (
            round(fmean(side), 3) for side in zip(*pairs, strict=True)
        )
        means[name] = {"correlation": correlation, "first": first}
    return means


def transformer_tables(model: nn.Module, pair: Pair) -> dict[str, WeightsAndEffects]:
    """Weights and effects in a Transformer: cross-attention and encoder."""
    model.double()  # most effects are too small for single precision
    return {
        **word_tables(
            cross_weights(model, [pair])[0],
            transformer_hiding_effects(model, pair),
            replacing_effects(model, pair),
            pair,
        ),
        "encoder_others": (
            encoder_weights(model, pair)[:-1],
            encoder_effects(model, pair)[:-1],
        ),
    }


@torch.no_grad()
def bahdanau_tables(model: nn.Module, pair: Pair) -> dict[str, WeightsAndEffects]:
    """The same for the model of Bahdanau et al., whose encoder has no attention."""
    model.double()
    return word_tables(
        attention_weights(model, [pair])[0],
        hide_from_bahdanau(model, pair),
        replacing_effects(model, pair),
        pair,
    )


def word_tables(
    weights: Tensor, hidden: Tensor, replaced: Tensor, pair: Pair
) -> dict[str, WeightsAndEffects]:
    """The rows of words that render a source word; "others" without its column."""
    rows = rendering_positions(pair)
    columns = [pair.alignment[i] for i in rows]
    tables = {}
    for name, effects in (("hidden", hidden), ("replaced", replaced)):
        all_effects = effects[rows]
        of_others = all_effects.clone()
        of_others[range(len(rows)), columns] = torch.nan
        tables[name] = weights[rows], all_effects
        tables[f"{name}_others"] = weights[rows], of_others
    return tables


def rendering_positions(pair: Pair) -> list[int]:
    """The positions of target words that render a source word."""
    return [i for i, j in enumerate(pair.alignment) if j is not None]
