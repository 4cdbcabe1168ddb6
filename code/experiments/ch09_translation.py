"""Chapter 9's Transformers on the toy language: pre-norm, post-norm, rotary."""

from functools import partial

from attnbook.analysis.maps import cross_weights
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.toy.models import toy_rotary, toy_transformer
from experiments.registry import experiment

post_norm = partial(toy_transformer, norm_first=False)
measure = partial(train_and_measure, weights_of=cross_weights)

experiment(partial(measure, toy_transformer), "transformer")
experiment(partial(measure, post_norm, seeds=THREE_SEEDS), "transformer_post_norm")
experiment(
    partial(measure, post_norm, seeds=THREE_SEEDS, learning_rate=1e-3),
    "transformer_post_norm_slower",
)
experiment(partial(measure, toy_rotary), "transformer_rotary")
