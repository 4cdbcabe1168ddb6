"""What Multi30k holds, in numbers: the page can tell them without the data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from string import punctuation

from attnbook.core.vocabulary import EOS, UNK
from attnbook.data import multi30k
from attnbook.data.batching import IdPair, padding_share, pooled, token_batches
from attnbook.data.subwords import Subwords
from attnbook.translation.configs import config

LANGUAGES = ("en", "de")
CONFIG = config("multi30k-cpu")
MARKS = punctuation + "„“”‚‘’–"  # the latter are not ASCII


def multi30k_facts() -> dict:
    """Count sentences, words, characters and subwords, and the pads of four batchings.

    Returns:
        "sentences" by split; "rows" by language: what :func:`side` counts;
        "subwords" and "fingerprint" of those trained on the training split alone;
        "longest": subwords of the longest sentence on either side; "padding" and
        "shown": what :func:`padding` finds.
    """
    texts = {
        split: {language: multi30k.sentences(split, language) for language in LANGUAGES}
        for split in multi30k.SPLITS
    }
    train, val = texts["train"], texts["val"]
    subwords = Subwords.train(train["en"] + train["de"], CONFIG.vocab_size)
    rows = {
        language: side(train[language], val[language], subwords)
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
        **padding(pairs, CONFIG.batch_tokens),
    }


def side(train: Sequence[str], val: Sequence[str], subwords: Subwords) -> dict:
    """Count one language.

    Args:
        train: Training sentences; "unknown" is what does not occur in them.
        val: Validation sentences.
        subwords: Learned from the training sentences of both languages.
    """
    counts = Counter(word for line in train for word in words(line))
    held_out = [words(line) for line in val]
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


def words(line: str) -> list[str]:
    """Cut at spaces, and punctuation off both ends: *snow.* is no word of its own."""
    return [bare for word in line.split() if (bare := word.strip(MARKS))]


def padding(pairs: Sequence[IdPair], batch_tokens: int, seed: int = 0) -> dict:
    """Cut pairs into batches in four ways and look at the pads.

    As many pairs a batch as token batches have on average; those of one pass.

    Returns:
        "pairs_per_batch"; "padding": by way, the share of places that hold nothing
        but pads; "shown": by way, the lengths with EOS of source and target, pair by
        pair, in the batch whose share of pads is nearest to that of all.
    """
    by_tokens = token_batches(pairs, batch_tokens, random.Random(seed))
    size = round(fmean(len(batch) for batch in by_tokens))
    shuffled = random.Random(seed).sample(pairs, len(pairs))
    ordered = sorted(shuffled, key=lambda pair: (len(pair.target), len(pair.source)))
    ways = {
        "random": [shuffled[i : i + size] for i in range(0, len(pairs), size)],
        "pooled": list(pooled(shuffled, size, random.Random(seed))),
        "sorted": [ordered[i : i + size] for i in range(0, len(pairs), size)],
        "tokens": by_tokens,
    }
    shares = {way: padding_share(batches) for way, batches in ways.items()}
    return {
        "pairs_per_batch": size,
        "padding": {way: round(share, 4) for way, share in shares.items()},
        "shown": {way: _lengths(_typical(b, shares[way])) for way, b in ways.items()},
    }


def _typical(batches: Sequence[list[IdPair]], share: float) -> list[IdPair]:
    """Find the batch whose share of pads is nearest to ``share``."""
    return min(batches, key=lambda batch: abs(padding_share([batch]) - share))


def _lengths(batch: Sequence[IdPair]) -> list[list[int]]:
    """Lengths of source and target, pair by pair, with ``EOS``."""
    return [[len([*side, EOS]) for side in (p.source, p.target)] for p in batch]
