"""Do attention weights tell what an answer depends on? Two models, three seeds."""

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

SEEDS = (0, 1, 2)
SENTENCES, CLAUSES = 40, 2
Table = tuple[Tensor, Tensor]  # weights and effects, of one shape


def weights_tell() -> dict:
    """Train both models as the thread does, and compare weights with effects.

    Returns:
        "runs": for each model and seed, by the name of what was done, the mean over
        sentences of the "correlation" and of the share of rows "first" in both; with
        "_others" in the name, without the word that the row renders or belongs to.
    """
    pairs, runs = held_out_pairs(CLAUSES, SENTENCES), []
    for name, make, tables in (
        ("transformer", toy_transformer, of_transformer),
        ("bahdanau", Bahdanau, of_bahdanau),
    ):
        for seed in SEEDS:
            model, _ = train_toy_model(make, seed)
            found = compare([tables(model, pair) for pair in pairs])
            size = sum(p.numel() for p in model.parameters())
            runs.append({"model": name, "seed": seed, "parameters": size, **found})
            print(f"  {runs[-1]}", flush=True)
    about = {"steps": STEPS, "rate": LEARNING_RATE}
    return {"sentences": SENTENCES, "clauses": CLAUSES, **about, "runs": runs}


def compare(tables: list[dict[str, Table]]) -> dict[str, dict[str, float]]:
    """Average :func:`~attnbook.analysis.occlusion.agreement` over sentences."""
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
    model.double()  # most effects are too small for single precision
    return {
        **of_words(
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
def of_bahdanau(model: nn.Module, pair: Pair) -> dict[str, Table]:
    """The same of the model of Bahdanau et al., whose encoder has no weights."""
    model.double()
    return of_words(
        attention_weights(model, [pair])[0],
        hide_from_bahdanau(model, pair),
        replacing_effects(model, pair),
        pair,
    )


def of_words(
    weights: Tensor, hidden: Tensor, replaced: Tensor, pair: Pair
) -> dict[str, Table]:
    """The rows that render a source word; "others" without that word's column.

    Args:
        weights: (T, S).
        hidden: Effects, (T, S).
        replaced: Effects, (T, S), NaN where unknown.
        pair: The pair they belong to.
    """
    rows = rendering(pair)
    columns = [pair.alignment[i] for i in rows]
    tables = {}
    for name, effects in (("hidden", hidden), ("replaced", replaced)):
        of_all = effects[rows]
        of_others = of_all.clone()
        of_others[range(len(rows)), columns] = torch.nan
        tables[name] = weights[rows], of_all
        tables[f"{name}_others"] = weights[rows], of_others
    return tables


def rendering(pair: Pair) -> list[int]:
    """The target places that render a source word."""
    return [i for i, j in enumerate(pair.alignment) if j is not None]
