"""Chapter 3's translators on the toy language: scores, windows, reversed sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from torch import Tensor

from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.models.luong import Luong
from attnbook.nn.scores import SCORES
from attnbook.toy.data import held_out_pairs, reverse_source
from attnbook.toy.language import Pair, kind_of
from attnbook.toy.metrics import alignment_accuracy, attention_weights, exact_match
from attnbook.toy.training import STEPS, train_toy_model
from experiments.registry import experiment

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


# Which word do the weights of a step belong to: its output or its input?

CLAUSES = 4

MODELS = {
    **{score: partial(Luong, score=score, input_feeding=False) for score in SCORES},
    **{
        align: partial(model, input_feeding=False)
        for align, model in (("local-m", local_m), ("local-p", local_p))
    },
    "general, input feeding": partial(Luong, score="general"),
}
"""All but the last are without input feeding; windows have general scores, D = 3."""


@experiment
def alignment_two_ways() -> dict:
    """Train each model, and compare its weights with the output and with the input.

    Step t of Luong's decoder reads token y_{t-1} and predicts y_t. Footnote 14 of Luong
    et al. 2015 takes the weights of the step as the alignment of the *output* y_t for
    the location score, but as that of the *input* for scores that depend on the source.
    """
    pairs, runs = held_out_pairs(CLAUSES), []
    for name, make_model in MODELS.items():
        for seed in THREE_SEEDS:
            model, _ = train_toy_model(make_model, seed)
            weights = attention_weights(model, pairs)  # (B, T, S)
            found = {
                "exact": exact_match(model, pairs),
                "output": alignment_accuracy(weights, pairs),
                "input": alignment_accuracy(weights[:, 1:], pairs),
            }
            run = {"model": name, "seed": seed}
            run |= {key: round(share, 4) for key, share in found.items()}
            runs.append(run | {"kinds": most_attended(weights, pairs)})
            print(f"  {run}", flush=True)
    return {"steps": STEPS, "clauses": CLAUSES, "runs": runs}


def most_attended(
    weights: Tensor, pairs: Sequence[Pair]
) -> dict[str, dict[str, float]]:
    """Which source word has the largest weight, by kind of the predicted word?"""
    counts: dict[str, Counter[str]] = {}
    for rows, pair in zip(weights.argmax(-1).tolist(), pairs, strict=True):
        words = zip(rows, pair.alignment, (None, *pair.alignment), strict=False)
        for best, output, previous in words:
            if output is not None:
                which = {output: "output", previous: "input"}.get(best, "another")
                kind = kind_of(pair.source[output])
                counts.setdefault(kind, Counter())[which] += 1
    return {
        kind: {
            which: round(found[which] / found.total(), 4)
            for which in ("output", "input", "another")
        }
        for kind, found in sorted(counts.items())
    }
