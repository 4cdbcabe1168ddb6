"""What does an encoder do for a decoder that sees one position? Freeze it, and see."""

from __future__ import annotations

import copy
import random
from functools import partial

import torch
from torch import nn

from attnbook.course.kit.toy_translation import THREE_SEEDS
from attnbook.data.batching import pooled
from attnbook.models.luong import Luong
from attnbook.toy.data import (
    CLAUSES,
    SOURCE,
    TARGET,
    held_out_pairs,
    make_batch,
    toy_pairs,
)
from attnbook.toy.metrics import exact_match
from attnbook.toy.models import load_toy_model
from attnbook.toy.training import LEARNING_RATE, fit, train_toy_model
from experiments.registry import experiment

STEPS = 300
one_position = partial(Luong, align="local-m", half_width=0, input_feeding=False)


@experiment
def frozen_encoders(steps: int = STEPS) -> dict:
    """Train a new decoder with a window of one position on three frozen encoders.

    One is untrained, one belongs to the shipped Bahdanau model, and one was trained
    together with another decoder of this kind.

    Returns:
        "runs": for each seed and "encoder" the "exact" match by number of clauses, and
        as "whole" that of the model that the third encoder comes from.
    """
    runs = []
    for seed in THREE_SEEDS:
        whole, _ = train_toy_model(one_position, seed)
        torch.manual_seed(seed + 100)
        untrained = one_position(len(SOURCE), len(TARGET))
        encoders = {
            "untrained": untrained.encoder,
            "bahdanau": load_toy_model("bahdanau").encoder,
            "window of one": whole.encoder,
        }
        runs.append({"seed": seed, "encoder": "whole", "exact": by_clauses(whole)})
        for name, encoder in encoders.items():
            model = with_frozen_encoder(encoder, seed + 200)
            fit(model, batches(seed + 200), steps, LEARNING_RATE)
            runs.append({"seed": seed, "encoder": name, "exact": by_clauses(model)})
            print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "runs": runs}


def with_frozen_encoder(encoder: nn.Module, seed: int) -> Luong:
    """An untrained model of the kind, with a copy of an encoder that stays as it is."""
    torch.manual_seed(seed)
    model = one_position(len(SOURCE), len(TARGET))
    model.encoder = copy.deepcopy(encoder).requires_grad_(False)
    return model


def batches(seed: int):
    """Batches of 64 sentences of one to four clauses."""
    groups = pooled(toy_pairs(seed, CLAUSES), 64, random.Random(seed))
    return map(make_batch, groups)


def by_clauses(model: nn.Module) -> dict[str, float]:
    """Exact match on held-out sentences, by number of clauses."""
    return {
        str(n): round(exact_match(model, held_out_pairs(n)), 4) for n in (*CLAUSES, 5)
    }
