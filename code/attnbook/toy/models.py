"""The models of the toy language that come with the package, trained.

``python -m attnbook.experiments.train_toys`` trains them anew, as the thread's
experiments do with seed 0.
"""

from __future__ import annotations

from importlib.resources import files

from torch import nn

from attnbook.models.bahdanau import Bahdanau
from attnbook.models.checkpoints import load_weights
from attnbook.models.seq2seq import StaticContext
from attnbook.models.transformer import Transformer
from attnbook.toy.data import SOURCE, TARGET

FOLDER = files("attnbook") / "stored" / "models"


def toy_transformer(
    n_source: int, n_target: int, norm_first: bool = True
) -> Transformer:
    """Make a Transformer of the size that the toy language asks for.

    Args:
        n_source: Number of source words.
        n_target: Number of target words.
        norm_first: Whether to take pre-norm, which learns the task without warm-up.
    """
    return Transformer(
        n_source,
        n_target,
        d_model=64,
        n_heads=4,
        n_layers=2,
        d_ff=256,
        dropout=0.0,
        norm_first=norm_first,
    )


MODELS = {
    "static_context": StaticContext,
    "bahdanau": Bahdanau,
    "transformer": toy_transformer,
}
"""What makes each model, from the sizes of the two vocabularies."""


def load_toy_model(name: str) -> nn.Module:
    """Load one of :data:`MODELS`, trained, in eval mode.

    Raises:
        ValueError: If there is no such model.
    """
    if name not in MODELS:
        raise ValueError(
            f"there is no model {name!r}; choose among {', '.join(MODELS)}"
        )
    model = MODELS[name](len(SOURCE), len(TARGET))
    load_weights(model, FOLDER / name)
    return model
