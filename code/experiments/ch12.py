"""Chapter 12: Multi30k counted, and a toy ablation.

The stored runs on Multi30k, ``multi30k_runs`` and ``multi30k_learning_rates``, were
collected by an older state of this repository: ``git checkout ee4e0849``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from string import punctuation

from attnbook.core.vocabulary import EOS, UNK
from attnbook.data import multi30k
from attnbook.data.batching import (
    IdPair,
    padding_share,
    pooled,
    token_batches,
)
from attnbook.data.subwords import Subwords
from attnbook.translation.configs import config
from attnbook.translation.translator import Translator
from experiments.registry import experiment

# What Multi30k contains, and how much of its batches is padding

LANGUAGES = ("en", "de")
CONFIG = config("multi30k-cpu")
PUNCTUATION = punctuation + "„“”‚‘’–"  # the latter are not ASCII


@experiment
def multi30k_facts() -> dict:
    """Count sentences, words, characters, subwords, and the padding of four batchings.

    Returns:
        "sentences" by split; "rows" by language: see :func:`language_counts`;
        "subwords" and "fingerprint" of those trained on the training split alone;
        "longest": number of subwords of the longest sentence of either language;
        "padding" and "shown": see :func:`padding_by_method`.
    """
    texts = {
        split: {language: multi30k.sentences(split, language) for language in LANGUAGES}
        for split in multi30k.SPLITS
    }
    train, val = texts["train"], texts["val"]
    subwords = Subwords.train(train["en"] + train["de"], CONFIG.vocab_size)
    rows = {
        language: language_counts(train[language], val[language], subwords)
        for language in LANGUAGES
    }
    sides = [[subwords.encode(line) for line in train[name]] for name in LANGUAGES]
    pairs = [IdPair(*pair) for pair in zip(*sides, strict=True)]
    print(f"  {rows}", flush=True)
    return {
        "sentences": {split: len(texts[split]["en"]) for split in texts},
        "rows": rows,
        "subwords": len(subwords),
        "fingerprint": subwords.fingerprint(),
        "longest": max(len(ids) for ids in sides[0] + sides[1]),
        "batch_tokens": CONFIG.batch_tokens,
        **padding_by_method(pairs, CONFIG.batch_tokens),
    }


WORDS = {"committee", "rejected", "proposal", "you", "are", "man", "throws", "ball"}
PIECES = {"omm", "itte", "ject"}


@experiment
def caption_words() -> dict:
    """Count English training captions with some words, and with some subwords."""
    pieces, found = Translator().subwords.pieces, Counter()
    for caption in multi30k.sentences("train", "en"):
        words = {word.lower() for word in split_words(caption)}
        found.update(words & WORDS | {*pieces(caption)} & PIECES)
    return {word: found[word] for word in sorted(WORDS | PIECES)}


def language_counts(
    train: Sequence[str], val: Sequence[str], subwords: Subwords
) -> dict:
    """Counts of one language."""
    counts = Counter(word for line in train for word in split_words(line))
    held_out = [split_words(line) for line in val]
    unknown = [sum(word not in counts for word in line) for line in held_out]
    ids = [subwords.encode(line) for line in val]
    return {
        "words": counts.total(),
        "types": len(counts),
        "once": sum(number == 1 for number in counts.values()),
        "characters": len(set("".join(train))),
        "val_words": sum(map(len, held_out)),
        "val_unknown": sum(unknown),
        "val_sentences_unknown": sum(number > 0 for number in unknown),
        "val_unk": sum(i == UNK for line in ids for i in line),
        "per_sentence": {
            "words": round(fmean(len(line.split()) for line in train), 2),
            "subwords": round(fmean(len(subwords.encode(x)) for x in train), 2),
            "characters": round(fmean(len(line) for line in train), 2),
        },
    }


def split_words(line: str) -> list[str]:
    """Split at spaces and strip punctuation, so that *snow.* counts as *snow*."""
    return [bare for word in line.split() if (bare := word.strip(PUNCTUATION))]


def padding_by_method(
    pairs: Sequence[IdPair], batch_tokens: int, seed: int = 0
) -> dict:
    """Make the batches of one epoch in four ways, and measure the padding.

    The batch size is the mean number of pairs of token batches.
    """
    by_tokens = token_batches(pairs, batch_tokens, random.Random(seed))
    size = round(fmean(len(batch) for batch in by_tokens))
    shuffled = random.Random(seed).sample(pairs, len(pairs))
    ordered = sorted(shuffled, key=lambda pair: (len(pair.target), len(pair.source)))
    methods = {
        "random": [shuffled[i : i + size] for i in range(0, len(pairs), size)],
        "pooled": list(pooled(shuffled, size, random.Random(seed))),
        "sorted": [ordered[i : i + size] for i in range(0, len(pairs), size)],
        "tokens": by_tokens,
    }
    shares = {name: padding_share(batches) for name, batches in methods.items()}
    return {
        "pairs_per_batch": size,
        "padding": {name: round(share, 4) for name, share in shares.items()},
        "shown": {
            name: _lengths(_typical(batches, shares[name]))
            for name, batches in methods.items()
        },
    }


def _typical(batches: Sequence[list[IdPair]], share: float) -> list[IdPair]:
    """The batch whose fraction of padding is nearest to ``share``."""
    return min(batches, key=lambda batch: abs(padding_share([batch]) - share))


def _lengths(batch: Sequence[IdPair]) -> list[list[int]]:
    """Lengths of source and target, pair by pair, with ``EOS``."""
    return [[len([*side, EOS]) for side in (p.source, p.target)] for p in batch]
