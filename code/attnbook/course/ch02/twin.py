"""The twin of chapter 2: as large and as long trained as the usual model.

Only its weights are held uniform for the first 150 of the 700 steps. It comes with the
package; ``python -m attnbook.course.ch02.twin`` trains it again.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

import torch

from attnbook.core.results import machine
from attnbook.core.threads import set_threads
from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.checkpoints import load_weights, save_weights
from attnbook.toy.data import SOURCE, TARGET, toy_batches
from attnbook.toy.training import LEARNING_RATE, STEPS, fit

FOLDER = files("attnbook") / "stored" / "models" / "bahdanau_twin"
SEED = 0
HELD_STEPS = 150
"""Number of steps for which the attention weights are held uniform."""


def load_twin() -> Bahdanau:
    """The twin, trained, in eval mode."""
    model = Bahdanau(len(SOURCE), len(TARGET))
    load_weights(model, FOLDER)
    return model


def hold_uniform(
    batches: Iterable[Batch], model: Bahdanau, held: int
) -> Iterator[Batch]:
    """Pass batches on, and keep the attention uniform for the first ``held`` steps.

    With v = 0 all scores are 0. Afterwards v gets back its initial values.
    """
    v = model.score.v.weight
    initial = v.detach().clone()
    for step, batch in enumerate(batches):
        if step == 0 < held:
            v.data.zero_()
            v.requires_grad_(False)
        elif step == held > 0:
            v.data.copy_(initial)
            v.requires_grad_(True)
        yield batch


def trained(seed: int, held: int) -> Bahdanau:
    """A model whose weights are held uniform for the first ``held`` steps."""
    torch.manual_seed(seed)
    model = Bahdanau(len(SOURCE), len(TARGET))
    fit(model, hold_uniform(toy_batches(seed), model, held), STEPS, LEARNING_RATE)
    return model


def main() -> None:
    """Command line: the folder to write to."""
    parser = argparse.ArgumentParser(
        prog="python -m attnbook.course.ch02.twin", description=__doc__
    )
    parser.add_argument(
        "--out", type=Path, default=Path(str(FOLDER)), help="folder to write to"
    )
    out = parser.parse_args().out
    set_threads()
    start = time.process_time()
    model = trained(SEED, HELD_STEPS)
    save_weights(
        model,
        out,
        command="python -m attnbook.course.ch02.twin",
        machine=machine(),
        python=platform.python_version(),
        torch=torch.__version__,
        seed=SEED,
        steps=STEPS,
        held=HELD_STEPS,
        rate=LEARNING_RATE,
        seconds=round(time.process_time() - start),
    )


if __name__ == "__main__":
    main()
