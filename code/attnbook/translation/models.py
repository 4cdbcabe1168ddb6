"""The model that a config asks for."""

from __future__ import annotations

from torch import nn

from attnbook.models import registry
from attnbook.models.variants import ablate
from attnbook.models.word_tables import tie_tables
from attnbook.translation.configs import Config


def model_from_config(config: Config, vocab_size: int) -> nn.Module:
    """Make an untrained model.

    Args:
        config: Names the model and its sizes. The recurrent ones take ``d_model`` for
            the width of word vectors and of states.
        vocab_size: Subwords, shared by both languages.

    Raises:
        ValueError: If there is no such model or variant.
    """
    if config.model == "transformer":
        sizes = {
            "d_model": config.d_model,
            "n_heads": config.n_heads,
            "n_layers": config.n_layers,
            "d_ff": config.d_ff,
            "norm_first": config.norm_first,
        }
    else:
        sizes = {"d_embed": config.d_model, "d_hidden": config.d_model}
    model = registry.make_model(
        config.model, vocab_size, dropout=config.dropout, **sizes
    )
    if config.tie_tables and config.model != "transformer":
        tie_tables(model)
    ablate(model, config.variant)
    return model
