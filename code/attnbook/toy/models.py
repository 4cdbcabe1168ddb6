"""Small models of the toy language, trained, that come with the package.

``python -m attnbook.course.kit.train_toys`` trains them anew, as the experiments of
the toy translation task do with seed 0.
"""

from __future__ import annotations

from importlib.resources import files

from torch import nn

from attnbook.models.checkpoints import load_weights
from attnbook.models.registry import make_model
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.data import SOURCE, TARGET

FOLDER = files("attnbook") / "stored" / "models"

SIZES = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 256, "dropout": 0.0}
"""Of the Transformer that the toy language asks for."""

TOY_MODELS: dict[str, dict[str, object]] = {
    "static_context": {},
    "bahdanau": {},
    "transformer": {**SIZES, "norm_first": True},
}
"""The models that come with the package, with their sizes."""


def toy_transformer(source_vocab_size: int, target_vocab_size: int) -> Transformer:
    """Make a Transformer of the size that the toy language asks for.

    It has pre-norm, which learns the task without warm-up.
    """
    sizes = {**SIZES, "norm_first": True}
    return Transformer(TransformerConfig(source_vocab_size, target_vocab_size, **sizes))


def load_toy_model(name: str) -> nn.Module:
    """Load one of :data:`TOY_MODELS`, trained, in eval mode.

    Raises:
        ValueError: If there is no such model.
    """
    if name not in TOY_MODELS:
        raise ValueError(
            f"there is no model {name!r}; choose among {', '.join(TOY_MODELS)}"
        )
    model = make_model(name, len(SOURCE), len(TARGET), **TOY_MODELS[name])
    load_weights(model, FOLDER / name)
    return model
