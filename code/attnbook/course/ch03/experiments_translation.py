"""Chapter 3's translators on the toy language: scores, windows, reversed sources."""

from functools import partial

from attnbook.course.kit.experiments import experiment
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.models.luong import Luong
from attnbook.nn.scores import SCORES
from attnbook.toy.data import reverse_source

# No word of the toy task moves further than 3 positions.
local_m = partial(Luong, align="local-m", half_width=3)
local_p = partial(Luong, align="local-p", half_width=3)
three_seeds = partial(train_and_measure, seeds=THREE_SEEDS)

experiment(partial(train_and_measure, Luong), "luong_general")
for score in ("dot", "concat", "location"):
    experiment(partial(three_seeds, partial(Luong, score=score)), f"luong_{score}")
for score in SCORES:
    without = partial(Luong, score=score, input_feeding=False)
    experiment(partial(three_seeds, without), f"luong_{score}_no_feeding")

for name, model in (("local_m", local_m), ("local_p", local_p)):
    without = partial(model, input_feeding=False)
    experiment(partial(three_seeds, model), f"luong_{name}")
    experiment(partial(three_seeds, without), f"luong_{name}_no_feeding")
for width in (0, 1, 2):
    narrow = partial(local_m, half_width=width)
    experiment(partial(three_seeds, narrow), f"luong_local_m_{width}")

# On the reversed source every word moves far.
for name, model in (("general", Luong), ("local_m", local_m), ("local_p", local_p)):
    reversed_too = partial(three_seeds, model, transform=reverse_source)
    experiment(reversed_too, f"luong_{name}_reversed")
