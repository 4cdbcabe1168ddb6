"""The models for translation by name, for whoever reads the name from a file."""

from __future__ import annotations

from torch import nn

from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig

RECURRENT = {
    "initial_state": InitialState,
    "static_context": StaticContext,
    "bahdanau": Bahdanau,
    "luong": Luong,
}
MODELS = ("transformer", *RECURRENT)
"""The names."""


def make_model(
    name: str,
    source_vocab_size: int,
    target_vocab_size: int | None = None,
    **sizes: object,
) -> nn.Module:
    """Make an untrained model.

    Args:
        name: One of :data:`MODELS`.
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens. None: as many; the Transformer then
            has one vocabulary for both languages.
        sizes: Of the Transformer those of
            :class:`~attnbook.nn.layers.TransformerConfig`, of the others the keywords
            of their class.

    Raises:
        ValueError: If there is no such model, or a size is not possible.
    """
    if name == "transformer":
        return Transformer(
            TransformerConfig(source_vocab_size, target_vocab_size, **sizes)
        )
    if name not in RECURRENT:
        raise ValueError(
            f"there is no model {name!r}; choose among {', '.join(MODELS)}"
        )
    target = source_vocab_size if target_vocab_size is None else target_vocab_size
    return RECURRENT[name](source_vocab_size, target, **sizes)
