"""Chapter 1's translators on the toy language: equal steps, more steps, more width."""

from functools import partial

from attnbook.course.kit.experiments import experiment
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.models.narrow_context import NarrowContext
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.toy.data import reverse_source

static_mean = partial(StaticContext, summary="mean")
one_way = partial(InitialState, bidirectional=False)
three_seeds = partial(train_and_measure, seeds=THREE_SEEDS)

experiment(partial(train_and_measure, InitialState), "initial_state")
experiment(partial(train_and_measure, StaticContext), "static_last")
experiment(partial(train_and_measure, static_mean), "static_mean")
experiment(partial(train_and_measure, NarrowContext), "static_narrow")

for name, model in (("initial_state", InitialState), ("static_last", StaticContext)):
    experiment(partial(three_seeds, model, steps=2100), f"{name}_longer")
    experiment(partial(three_seeds, partial(model, d_hidden=192)), f"{name}_wider")

# A unidirectional encoder, and the same with the source reversed.
experiment(partial(three_seeds, one_way), "one_way")
experiment(partial(three_seeds, one_way, transform=reverse_source), "one_way_reversed")
