"""The experiments of the playground: their settings, and runs over several seeds."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import cache, partial

import torch

from attnbook.core import results
from attnbook.course.kit.experiments import experiment
from attnbook.course.kit.playground.data import GRAMMAR, KINDS, OPTIONS, PRESETS, WORDS
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.tasks import TASKS, best_loss, parses, sizes
from attnbook.course.kit.playground.training import train

SEEDS = (0, 1, 2, 3, 4)
POINTS = 25  # of a stored curve


def settings_of(preset: str, seed: int = 0) -> list[Setting]:
    """The two settings that a preset compares."""
    about = PRESETS[preset]
    return [
        Setting(**about["setting"], **run["setting"], seed=seed)
        for run in about["runs"]
    ]


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


def guess_of(task: str) -> float:
    """The loss of a guess among all answers, in nats."""
    return math.log(12 if task == "count_positions" else sizes(task)[0])


@cache
def page_data() -> dict:
    """What the page must know: choices, words, experiments with their stored runs."""
    presets = {}
    for name, about in PRESETS.items():
        stored = results.load(f"playground_{name.replace('-', '_')}")
        found = {"seeds": len(stored["seeds"]), "stored": stored["runs"]}
        presets[name] = {**about, **found}
    return {
        "words": WORDS,
        "kinds": KINDS,
        "grammar": GRAMMAR,
        "options": OPTIONS,
        "defaults": asdict(Setting()),
        "lines": {
            task: {
                "guess": guess_of(task),
                "false": best_loss(task, False),
                "true": best_loss(task, True),
            }
            for task in TASKS
        },
        "presets": presets,
    }
