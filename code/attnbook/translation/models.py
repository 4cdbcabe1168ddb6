"""The model that a config asks for."""

from __future__ import annotations

from torch import nn

from attnbook.models import registry
from attnbook.models.word_tables import tie_tables
from attnbook.translation.configs import Config


def model_from_config(config: Config, vocab_size: int) -> nn.Module:
    """Make an untrained model, with one table for source, target and output words.

    Args:
        config: Names the model and its sizes. The recurrent ones take ``d_model`` for
            the width of word vectors and of states.
        vocab_size: Subwords, shared by both languages.

    Raises:
        ValueError: If there is no such model.
    """
    recurrent = config.model in registry.RECURRENT
    if recurrent:
        sizes = {"d_embed": config.d_model, "d_hidden": config.d_model}
    else:
        names = ("d_model", "n_heads", "n_layers", "d_ff", "norm_first")
        sizes = {name: getattr(config, name) for name in names}
    model = registry.make_model(
        config.model, vocab_size, dropout=config.dropout, **sizes
    )
    if recurrent:
        tie_tables(model)
    return model
