"""Train the toy models that come with the package, and store their weights."""

from __future__ import annotations

import argparse
import platform
import time
from functools import partial
from pathlib import Path

import torch

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


def main() -> None:
    """Command line: the folder to write to."""
    parser = argparse.ArgumentParser(
        prog="python -m attnbook.course.kit.train_toys", description=__doc__
    )
    parser.add_argument(
        "--out", type=Path, default=Path(str(FOLDER)), help="folder to write to"
    )
    out = parser.parse_args().out
    set_threads()
    for name, sizes in TOY_MODELS.items():
        start = time.process_time()
        model, _ = train_toy_model(partial(make_model, name, **sizes), SEED)
        seconds = round(time.process_time() - start)
        exact = {n: round(exact_match(model, held_out_pairs(n)), 4) for n in CLAUSES}
        save_weights(
            model,
            out / name,
            command="python -m attnbook.course.kit.train_toys",
            machine=machine(),
            python=platform.python_version(),
            torch=torch.__version__,
            seed=SEED,
            steps=STEPS,
            rate=LEARNING_RATE,
            seconds=seconds,
            exact=exact,
        )
        print(f"{name}: {seconds} s, exact match {exact}", flush=True)


if __name__ == "__main__":
    main()
