"""Which word do the weights of a step belong to: its output or its input?

Step t of Luong's decoder reads token y_{t-1} and predicts y_t. Footnote 14 of Luong et
al. 2015 takes the weights of the step as the alignment of the *output* y_t for the
location score, but as that of the *input* y_{t-1} for scores that depend on the source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from torch import Tensor

from attnbook.course.kit.experiments import experiment
from attnbook.models.luong import Luong
from attnbook.nn.scores import SCORES
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import ADJECTIVES, NOUNS, VERBS, Pair
from attnbook.toy.metrics import alignment_accuracy, attention_weights, exact_match
from attnbook.toy.training import STEPS, train_toy_model

SEEDS = (0, 1, 2)
CLAUSES = 4
KINDS = {"noun": NOUNS, "adjective": ADJECTIVES, "verb": VERBS}  # others: determiners

MODELS = {
    **{score: partial(Luong, score=score, input_feeding=False) for score in SCORES},
    **{
        align: partial(Luong, align=align, half_width=3, input_feeding=False)
        for align in ("local-m", "local-p")
    },
    "general, input feeding": partial(Luong, score="general"),
}
"""All but the last are without input feeding; windows have general scores, D = 3."""


@experiment
def alignment_two_ways() -> dict:
    """Train each model with three seeds, and compare its weights with both words.

    Returns:
        "runs": for each model and seed the exact match, the alignment accuracy with
        respect to the output and to the input, and "kinds", the shares of
        :func:`most_attended`; all in sentences of four clauses.
    """
    pairs, runs = held_out_pairs(CLAUSES), []
    for name, make_model in MODELS.items():
        for seed in SEEDS:
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


def kind_of(word: str) -> str:
    """Kind of a source word: "noun", "adjective", "verb" or "determiner"."""
    return next((k for k, words in KINDS.items() if word in words), "determiner")
