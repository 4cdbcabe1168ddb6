"""Encoders that are lighter than self-attention, for the toy translation task."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from attnbook.analysis.maps import cross_weights
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.models.transformer import Transformer
from attnbook.models.variants import make_lite_transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.long_short import LocalBranch, real_positions
from attnbook.toy.models import SIZES, toy_transformer
from experiments.registry import experiment

WIDTH = 5  # of the convolutions


def toy_lite_transformer(source_vocab_size: int, target_vocab_size: int) -> Transformer:
    """The toy task's Transformer, with long–short attention in the encoder."""
    config = TransformerConfig(
        source_vocab_size, target_vocab_size, **SIZES, norm_first=True
    )
    return make_lite_transformer(config, WIDTH)


class LocalOnly(LocalBranch):
    """The local branch for all features, where an encoder has self-attention."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:
        """Rewrite each position, (B, S, D), under a padding mask."""
        return super().forward(query, real_positions(mask, query))


def toy_local_transformer(
    source_vocab_size: int, target_vocab_size: int
) -> Transformer:
    """The same with nothing but convolutions in the encoder."""
    model = toy_transformer(source_vocab_size, target_vocab_size)
    for layer in model.encoder:
        layer.attention = LocalOnly(model.config.d_model, WIDTH)
    return model


measure = partial(train_and_measure, seeds=THREE_SEEDS, weights_of=cross_weights)
experiment(partial(measure, toy_lite_transformer), "lite_transformer")
experiment(partial(measure, toy_local_transformer), "local_encoder")
