"""Sentences with two valid translations: with one token after another, and all at once.

A model that predicts all tokens at once cannot keep to one of two word orders. It can
if its training data has one order only, or if the translations are those of a model
that predicts one token after another: knowledge distillation, as Gu et al. 2018 do it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import nn

from attnbook.core.vocabulary import PAD
from attnbook.data.batching import Batch, pooled
from attnbook.models.non_autoregressive import NonAutoregressive
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch, toy_pairs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import SIZES, toy_transformer
from attnbook.toy.training import LEARNING_RATE, fit
from attnbook.toy.two_orders import two_order_pairs, valid_translations
from experiments.registry import experiment

STEPS = 1200  # one token after another learns the two orders late, after some 600
BATCH_SIZE = 192
EXAMPLES = 3  # translations that are stored


def grouped(pairs: Iterable[Pair], seed: int) -> Iterator[list[Pair]]:
    """Pairs in groups of a batch, of similar length."""
    return pooled(pairs, BATCH_SIZE, random.Random(seed))


def distilled(pairs: Iterable[Pair], teacher: nn.Module) -> Iterator[Pair]:
    """The same sources, with the teacher's greedy translations for targets."""
    for group in grouped(pairs, 0):
        outputs = greedy_translations(teacher, group)
        kept = [
            Pair(pair.source, output, pair.alignment)
            for pair, output in zip(group, outputs, strict=True)
            if len(output) == len(pair.target)  # else the alignment would not fit
        ]
        if not kept:
            raise ValueError(
                "no translation of the teacher has the reference's length; train it "
                "with more steps"
            )
        yield from kept


def outputs_of(model: nn.Module, pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
    """Translate: greedily, or at once with the length given."""
    if not isinstance(model, NonAutoregressive):
        return greedy_translations(model, pairs)
    batch: Batch = make_batch(pairs)
    ids = model.translate(batch.src, (batch.tgt_out != PAD).sum(1))  # (B, T)
    return [tuple(TARGET.decode(row)) for row in ids.tolist()]


def measured(outputs: Sequence[tuple[str, ...]], pairs: Sequence[Pair]) -> dict:
    """Shares of valid outputs, of those with the object first, of the right words."""
    valid = [valid_translations(pair) for pair in pairs]
    either = [out in both for out, both in zip(outputs, valid, strict=True)]
    second = [out == both[1] for out, both in zip(outputs, valid, strict=True)]
    words = [
        sorted(out) == sorted(pair.target)
        for out, pair in zip(outputs, pairs, strict=True)
    ]
    n = len(pairs)
    return {
        "valid": round(sum(either) / n, 4),
        "object_first": round(sum(second) / n, 4),
        "right_words": round(sum(words) / n, 4),
    }


def one_seed(seed: int, steps: int) -> Iterator[tuple[str, nn.Module, list[float]]]:
    """Train the four models of a seed."""
    config = TransformerConfig(len(SOURCE), len(TARGET), **SIZES, norm_first=True)

    def fitted(model: nn.Module, pairs: Iterable[Pair]) -> list[float]:
        batches = map(make_batch, grouped(pairs, seed))
        return fit(model, batches, steps, LEARNING_RATE)

    torch.manual_seed(seed)
    teacher = toy_transformer(len(SOURCE), len(TARGET))
    yield (
        "one after another, two orders",
        teacher,
        fitted(teacher, two_order_pairs(seed)),
    )
    data = {
        "at once, one order": toy_pairs(seed, (1,)),
        "at once, two orders": two_order_pairs(seed),
        "at once, distilled": distilled(two_order_pairs(seed), teacher),
    }
    for name, pairs in data.items():
        torch.manual_seed(seed)
        model = NonAutoregressive(config)
        yield name, model, fitted(model, pairs)


@experiment
def two_orders(seeds: Sequence[int] = (0, 1, 2), steps: int = STEPS) -> dict:
    """Train both kinds of model on one order, on two, and on distilled translations.

    Returns:
        "runs": for each seed and model the entries of :func:`measured` on held-out
        sentences of one clause, the last "loss", and "examples", sources with their
        translations.
    """
    pairs, runs = held_out_pairs(1), []
    for seed in seeds:
        for name, model, losses in one_seed(seed, steps):
            outputs = outputs_of(model, pairs)
            runs.append(
                {
                    "model": name,
                    "seed": seed,
                    **measured(outputs, pairs),
                    "loss": round(sum(losses[-20:]) / len(losses[-20:]), 4),
                    "examples": [
                        [" ".join(pair.source), " ".join(out)]
                        for pair, out in zip(pairs[:EXAMPLES], outputs, strict=False)
                    ],
                }
            )
            print(f"  {runs[-1]}", flush=True)
    about = {"steps": steps, "batch": BATCH_SIZE, "rate": LEARNING_RATE}
    return {**about, "runs": runs}
