"""The twin of chapter 2: as large and as long trained as the usual model.

Only its weights are held uniform for the first 150 of the 700 steps. It comes with the
package; ``python -m attnbook.course.ch02.twin`` trains it again.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import torch

from attnbook.course.kit.train_toys import SEED, train_and_store
from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.checkpoints import load_weights
from attnbook.toy.data import SOURCE, TARGET, toy_batches
from attnbook.toy.models import FOLDER as MODELS
from attnbook.toy.training import LEARNING_RATE, STEPS, fit

FOLDER = MODELS / "bahdanau_twin"
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


if __name__ == "__main__":
    train_and_store(
        "attnbook.course.ch02.twin",
        {FOLDER.name: partial(trained, SEED, HELD_STEPS)},
        lambda _: {"held": HELD_STEPS},
    )
