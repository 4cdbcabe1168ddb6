"""The models of the course at a size for real text, all made from a config."""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn

from attnbook.models.ablations import make_variant
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.models.transformer import Transformer
from attnbook.translation.configs import Config


def make_model(config: Config, n_words: int) -> nn.Module:
    """Make an untrained model.

    Args:
        config: Names the model and its sizes. The recurrent ones take ``d_model`` for
            the width of word vectors and of states.
        n_words: Subwords, shared by both languages.

    Raises:
        ValueError: If there is no such model or variant.
    """
    if config.model not in MODELS:
        raise ValueError(
            f"there is no model {config.model!r}; choose among {', '.join(MODELS)}"
        )
    model = MODELS[config.model](config, n_words)
    make_variant(model, config.variant)
    return model


def _transformer(config: Config, n_words: int) -> Transformer:
    return Transformer(
        n_words,
        d_model=config.d_model,
        n_heads=config.n_heads,
        n_layers=config.n_layers,
        d_ff=config.d_ff,
        dropout=config.dropout,
        norm_first=config.norm_first,
    )


def _recurrent(kind: type[nn.Module]):
    """Make a maker of a recurrent model, with the dropout that small data ask for."""

    def make(config: Config, n_words: int) -> nn.Module:
        model = kind(n_words, n_words, config.d_model, config.d_model)
        # The models of the toy language have no dropout: they never see a sentence
        # twice. Here it is laid on word vectors and on what the last layer reads.
        for place in (model.encoder.embedding, model.embedding, model.readout.hidden):
            place.register_forward_hook(
                lambda module, _, out: F.dropout(out, config.dropout, module.training)
            )
        return model

    return make


MODELS = {
    "transformer": _transformer,
    "initial_state": _recurrent(InitialState),
    "static_context": _recurrent(StaticContext),
    "bahdanau": _recurrent(Bahdanau),
}
"""What makes each model from a config and the number of subwords."""
