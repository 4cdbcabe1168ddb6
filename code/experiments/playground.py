"""The experiments of the playground, run with several seeds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch

from attnbook.course.kit.playground.data import PRESETS
from attnbook.course.kit.playground.presets import settings_of
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.tasks import parses
from attnbook.course.kit.playground.training import train
from experiments.registry import experiment

SEEDS = (0, 1, 2, 3, 4)
POINTS = 25  # of a stored curve


def stored_runs(preset: str) -> dict:
    """Train both sides of a preset with several seeds; keep their range as a band."""
    return {
        "seeds": SEEDS,
        "runs": [over_seeds(setting) for setting in settings_of(preset)],
    }


def over_seeds(setting: Setting) -> dict:
    """Train with each seed, and average each curve within equal stretches of steps."""
    curves, found = [], {"losses": [], "accuracies": []}
    for seed in SEEDS:
        run = train(replace(setting, seed=seed))
        curves.append(torch.tensor(run.losses).view(POINTS, -1).mean(1))
        found["losses"].append(round(sum(run.losses[-10:]) / 10, 4))
        found["accuracies"].append(round(sum(run.accuracies[-10:]) / 10, 4))
        if setting.task == "next_word":
            sentences = run.model.generate(100, f"{seed}/sentences")
            found.setdefault("parse", []).append(sum(map(parses, sentences)))
        print(f"  {setting.task} {seed}: {found['losses'][-1]}", flush=True)
    stack = torch.stack(curves)
    for name, curve in (
        ("low", stack.amin(0)),
        ("mean", stack.mean(0)),
        ("high", stack.amax(0)),
    ):
        found[name] = [round(loss, 3) for loss in curve.tolist()]
    return found


for name in PRESETS:
    experiment(partial(stored_runs, name), f"playground_{name.replace('-', '_')}")
