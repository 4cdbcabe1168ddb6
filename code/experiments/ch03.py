"""Chapter 3: scores, windows, frozen encoders, costs, and whose word weights show."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import quantiles

import torch
from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.analysis.word_maps import word_groups, words
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.course.kit.word_links import WordLinks, diagonal
from attnbook.data.batching import Batch, IdPair, id_batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.nn.losses import token_loss
from attnbook.nn.scores import SCORES
from attnbook.toy.data import (
    SOURCE,
    TARGET,
    held_out_pairs,
    reverse_source,
    toy_batches,
)
from attnbook.toy.metrics import alignment_accuracy, attention_weights, exact_match
from attnbook.toy.training import STEPS, train_toy_model
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.registry import experiment, sweep

# Translators: scores, windows, reversed sources

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

MODELS = {
    **{score: partial(Luong, score=score, input_feeding=False) for score in SCORES},
    **{
        align: partial(model, input_feeding=False)
        for align, model in (("local-m", local_m), ("local-p", local_p))
    },
    "general, input feeding": partial(Luong, score="general"),
}
"""All but the last are without input feeding; windows have general scores, D = 3."""


@sweep(model=MODELS, seed=THREE_SEEDS, steps=STEPS, clauses=4)
def alignment_two_ways(model: str, seed: int) -> dict:
    """Train a model, and compare its weights with the output and with the input.

    Step t of Luong's decoder reads token y_{t-1} and predicts y_t. Footnote 14 of Luong
    et al. 2015 takes the weights of the step as the alignment of the *output* y_t for
    the location score, but as that of the *input* for scores that depend on the source.
    """
    trained, _ = train_toy_model(MODELS[model], seed)
    pairs = held_out_pairs(4)
    weights = attention_weights(trained, pairs)  # (B, T, S)
    return {
        "exact": round(exact_match(trained, pairs), 4),
        "output": round(alignment_accuracy(weights, pairs), 4),
        "input": round(alignment_accuracy(weights[:, 1:], pairs), 4),
    }


# What does a training step cost with attention before or after the recurrent step?

STEP_REPEATS = 101

TIMED: dict[str, Callable[[int, int], nn.Module]] = {
    "bahdanau": Bahdanau,
    **{
        f"{score}{', input feeding' if feeding else ''}": partial(
            Luong, score=score, input_feeding=feeding
        )
        for feeding in (False, True)
        for score in SCORES
    },
}


@experiment
def step_cost(repeats: int = STEP_REPEATS) -> dict:
    """Quartiles of the processor time of one step on 64 sentences of four clauses."""
    torch.manual_seed(0)
    models = {name: make(len(SOURCE), len(TARGET)) for name, make in TIMED.items()}
    batch = next(toy_batches(seed=0, clauses=(4,)))
    calls = {name: partial(one_step, model, batch) for name, model in models.items()}
    runs = []
    for name, times in time_in_turn(calls, repeats, time.process_time).items():
        quartiles = zip(("low", "median", "high"), quantiles(times, n=4), strict=True)
        run = {"model": name}
        run["parameters"] = sum(p.numel() for p in models[name].parameters())
        runs.append(run | {key: float(f"{seconds:.3g}") for key, seconds in quartiles})
    shape = {"B": len(batch.src), "S": batch.src.shape[1], "T": batch.tgt_in.shape[1]}
    return {"repeats": repeats, **shape, "runs": runs}


def one_step(model: nn.Module, batch: Batch) -> None:
    """One forward and backward pass."""
    model.zero_grad()
    token_loss(model(batch.src, batch.tgt_in), batch.tgt_out).backward()


def time_in_turn(
    calls: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float],
) -> dict[str, list[float]]:
    """Seconds of each call; in turn, so that other load affects all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(1 + repeats):
        for name, call in calls.items():
            start = clock()
            call()
            if repeat:  # the first warms up
                times[name].append(clock() - start)
    return times


# The translator's cross-attention as a dictionary: of its output, or of its input?

CAPTIONS = 160
FAR = 2
"""A word has moved if it is so many positions from the diagonal, or more."""


@experiment
def caption_dictionaries(seed: int = 0) -> dict:
    """Compare the weights of each cross-attention head with links between words.

    Step i reads subword i - 1 and predicts subword i. Does the largest weight lie on
    the English word that the output translates, or on that of the input? Links are
    those of IBM Model 1, learned from the training captions in both directions,
    between the validation captions and the model's own greedy translations.

    Returns:
        "links": their number, and how many are on the "diagonal"; "moved": the number
        of those that aren't near it; "output" and "input": for each layer and head how
        many links its weights find, "output_moved" and "input_moved" the same among
        those that moved.
    """
    translator = Translator()
    subwords = translator.subwords
    pairs = zip(*load_texts(translator.config, "train"), strict=True)
    pieces = ([subwords.pieces(text) for text in pair] for pair in pairs)
    links = WordLinks([[*map(words, sides)] for sides in pieces])
    captions = load_texts(translator.config, "val").source
    chosen = random.Random(seed).sample(captions, CAPTIONS)
    rows = [
        row
        for caption, text in zip(chosen, translator(chosen, width=1), strict=True)
        for row in compare(translator, links, caption, text)
    ]
    moved = torch.tensor([row["moved"] for row in rows])
    found: dict[str, object] = {
        "captions": CAPTIONS,
        "seed": seed,
        "links": len(rows),
        "diagonal": sum(row["diagonal"] for row in rows),
        "moved": int(moved.sum()),
    }
    for way in ("output", "input"):
        hits = torch.stack([row[way] for row in rows])  # (n, L, H)
        found[way] = hits.sum(0).tolist()
        found[f"{way}_moved"] = hits[moved].sum(0).tolist()
    return found


def compare(
    translator: Translator, links: WordLinks, caption: str, text: str
) -> list[dict]:
    """For each link of a translation, which heads find it as output and as input."""
    subwords = translator.subwords
    source = subwords.pieces(caption)
    target = subwords.pieces(text)
    groups = word_groups(target)
    origins = word_groups(source)
    weights = summed_by_word(cross_maps(translator, caption, text), origins)
    names = [words(source), words(target)]
    straight = diagonal(IdPair(*names))
    rows = []
    for t, j in links.between(*names).items():
        row = {"diagonal": straight[t] == j, "moved": abs(straight[t] - j) >= FAR}
        for way, shift in (("output", 0), ("input", 1)):
            steps = [position + shift for position in groups[t]]
            row[way] = weights[:, :, steps].mean(2).argmax(-1) == j
        rows.append(row)
    return rows


@torch.no_grad()
def cross_maps(translator: Translator, caption: str, text: str) -> Tensor:
    """Cross-attention under teacher forcing, (L, H, T, S)."""
    encode = translator.subwords.encode
    batch = id_batch([IdPair(encode(caption), encode(text))])
    maps = attention_maps(translator.model, batch.src, batch.tgt_in)
    return torch.cat(
        [w for name, w in maps.items() if name.endswith("cross_attention")]
    )


def summed_by_word(weights: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
    """Sum the weights on the subwords of each word; those on EOS are left out."""
    return torch.stack([weights[..., group].sum(-1) for group in groups], -1)
