"""Chapter 2: the translator when somebody chooses what it reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from attnbook.course.ch02.clicks import aligned_clicks, read_only, write_by_clicks
from attnbook.course.ch02.twin import HELD_STEPS, SEED, load_twin
from attnbook.models.bahdanau import Bahdanau
from attnbook.toy.data import TARGET, held_out_pairs, make_batch
from attnbook.toy.language import (
    KINDS,
    NOUNS,
    Pair,
    kind_of,
    translate_by_rule,
)
from attnbook.toy.models import load_toy_model
from attnbook.toy.training import LEARNING_RATE, STEPS
from experiments.registry import sweep

# Clicks


@torch.no_grad()
def read_each(model: Bahdanau, pair: Pair) -> list[list[str]]:
    """The word that each step gives if it reads position j alone: [t][j].

    The steps before are the right ones, with the model's own weights.
    """
    src, tgt_in, _ = make_batch([pair])
    each = torch.eye(src.shape[1], dtype=torch.bool)
    state, found = model.start(src), []
    for token in tgt_in[0]:
        logits, _ = model.step(token.expand(len(each)), read_only(state, each))
        found.append([TARGET.words[i] for i in logits.argmax(-1).tolist()])
        _, state = model.step(token[None], state)
    return found


def renders(output: str, word: str) -> bool:
    """Whether an output word translates a source word, with either ending."""
    kind = kind_of(word)
    translation = KINDS[kind]["a" if word == "an" else word]
    if kind in ("noun", "verb"):
        return output == translation
    return output in (f"{translation}n", f"{translation}s")


def count_clicks(model: Bahdanau, pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """How often one click on another word gives that word: [hits, trials] by kind.

    "same" kind as the word that is due; else by the kind of the word clicked.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pair in pairs:
        given = read_each(model, pair)
        for t, due in enumerate(pair.alignment):
            for j, word in enumerate(pair.source):
                if due is None or (kind := kind_of(word)) is None:
                    continue
                wanted = kind_of(pair.source[due])
                if renders(pair.target[t], word):
                    continue  # the same word, here or elsewhere
                entry = counts["same" if kind == wanted else kind]
                entry[0] += renders(given[t][j], word)
                entry[1] += 1
    return dict(counts)


def with_nouns_exchanged(pair: Pair) -> tuple[Pair, list[int]]:
    """The translation, and the clicks, if the first two nouns change places."""
    one, two = [j for j, word in enumerate(pair.source) if word in NOUNS][:2]
    change = {one: two, two: one}
    words = [pair.source[change.get(j, j)] for j in range(len(pair.source))]
    for j, word in enumerate(words):
        if word in ("a", "an"):
            words[j] = "an" if words[j + 1][0] in "aeiou" else "a"
    clicks = [change.get(j, j) for j in aligned_clicks(pair)]
    return translate_by_rule(words), clicks


# The experiment


@sweep(held=(0, HELD_STEPS), steps=STEPS, rate=LEARNING_RATE)
def click_or_cover(held: int) -> dict:
    """Choose what the usual model or its twin reads; two clauses."""
    model = load_twin() if held else load_toy_model("bahdanau")
    pairs = held_out_pairs(2, 100)
    exchanged = [with_nouns_exchanged(pair) for pair in pairs]

    def right(wanted: Pair, source: Pair, clicks: list[int]) -> bool:
        return tuple(write_by_clicks(model, source.source, clicks)) == wanted.target

    return {
        "seed": SEED,
        "clicks": count_clicks(model, pairs[:40]),
        "sentences": sum(right(p, p, aligned_clicks(p)) for p in pairs),
        "exchanged": sum(
            right(wanted, p, clicks)
            for p, (wanted, clicks) in zip(pairs, exchanged, strict=True)
        ),
        "of": len(pairs),
    }
