"""Without the root: is it the learning rate that is wrong, or the start?"""

from __future__ import annotations

from itertools import product

import torch

from attnbook.course.ch04.experiment_look_up import (
    EVERY,
    STEPS,
    LookUp,
    ScaledRead,
    train_look_up,
)
from attnbook.course.kit.experiments import experiment

FORMS = {
    "1/√d": (lambda d: d**-0.5, lambda d: 1.0),
    "no root": (lambda d: 1.0, lambda d: 1.0),
    "no root, small start": (lambda d: 1.0, lambda d: d**-0.25),
}
"""The factor of the scores, and that of the first W^Q and W^K, by the width. In the
first and the last form the first scores are the same numbers."""
WIDTH, RATES, SEEDS = 64, (3e-4, 1e-3, 3e-3), (0, 1, 2)


def make_model(d: int, form: str, seed: int) -> LookUp:
    """An untrained model of the look-up task in one of the three forms."""
    scale, start = FORMS[form]
    torch.manual_seed(seed)
    model = LookUp(d, ScaledRead(d, scale(d)))
    with torch.no_grad():
        for linear in (model.read.W_Q, model.read.W_K):
            linear.weight *= start(d)
    return model


@experiment
def root_and_start() -> dict:
    """The three forms at width 64 and three learning rates, with three seeds.

    Returns:
        "steps": the numbers of steps after which it was tested; "runs": for each form,
        learning rate and seed the accuracy ("right") after each of them.
    """
    runs = []
    for form, rate, seed in product(FORMS, RATES, SEEDS):
        accuracy = train_look_up(make_model(WIDTH, form, seed), seed, rate)
        run = {"form": form, "learning_rate": rate, "seed": seed}
        runs.append(run | {"right": accuracy})
        print(f"  {form} {rate} {seed}: {accuracy}", flush=True)
    return {"steps": list(range(EVERY, STEPS + 1, EVERY)), "runs": runs}
