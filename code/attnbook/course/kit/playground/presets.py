"""The experiments of the playground: their settings, and what the page must know."""

import math
from dataclasses import asdict
from functools import cache

from attnbook.core import results
from attnbook.course.kit.playground.data import (
    DARES,
    GRAMMAR,
    KINDS,
    OPTIONS,
    PRESETS,
    WORDS,
)
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.tasks import TASKS, best_loss, sizes


def settings_of(preset: str, seed: int = 0) -> list[Setting]:
    """The two settings that a preset compares."""
    about = PRESETS[preset]
    return [
        Setting(**about["setting"], **run["setting"], seed=seed)
        for run in about["runs"]
    ]


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
        "dares": DARES,
    }
