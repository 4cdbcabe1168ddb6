"""Train the toy models that come with the package, and store their weights."""

import argparse
import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch
from torch import nn

from attnbook.core.results import machine
from attnbook.core.threads import set_threads
from attnbook.course.kit.toy_translation import CLAUSES
from attnbook.models.checkpoints import save_weights
from attnbook.models.registry import make_model
from attnbook.toy.data import held_out_pairs
from attnbook.toy.metrics import exact_match
from attnbook.toy.models import FOLDER, TOY_MODELS
from attnbook.toy.training import LEARNING_RATE, STEPS, train_toy_model

SEED = 0


def train_and_store(
    module: str,
    train: Mapping[str, Callable[[], nn.Module]],
    facts_of: Callable[[nn.Module], dict[str, object]],
) -> None:
    """Command line: the folder to write to.

    Args:
        module: The module that is run.
        train: Functions that train a model with seed 0, by the model's name.
        facts_of: What else is stored with a trained model.
    """
    command = f"python -m {module}"
    parser = argparse.ArgumentParser(prog=command, description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path(str(FOLDER)), help="folder to write to"
    )
    out = parser.parse_args().out
    set_threads()
    for name, make in train.items():
        start = time.process_time()
        model = make()
        seconds = round(time.process_time() - start)
        facts = facts_of(model)
        save_weights(
            model,
            out / name,
            command=command,
            machine=machine(),
            python=platform.python_version(),
            torch=torch.__version__,
            seed=SEED,
            steps=STEPS,
            rate=LEARNING_RATE,
            seconds=seconds,
            **facts,
        )
        print(f"{name}: {seconds} s, {facts}", flush=True)


def _trained(name: str, **sizes: object) -> nn.Module:
    return train_toy_model(partial(make_model, name, **sizes), SEED)[0]


def _scores(model: nn.Module) -> dict[str, object]:
    scores = {n: exact_match(model, held_out_pairs(n)) for n in CLAUSES}
    return {"exact": {n: round(score, 4) for n, score in scores.items()}}


if __name__ == "__main__":
    train_and_store(
        "attnbook.course.kit.train_toys",
        {name: partial(_trained, name, **sizes) for name, sizes in TOY_MODELS.items()},
        _scores,
    )
