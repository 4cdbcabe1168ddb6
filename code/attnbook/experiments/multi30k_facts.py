"""What Multi30k holds, in numbers: the page can tell them without the data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from attnbook import multi30k
from attnbook.batches import IdPair, pooled
from attnbook.configs import config
from attnbook.subwords import Subwords
from attnbook.token_batches import padding_share, token_batches
from attnbook.vocabulary import EOS, UNK

LANGUAGES = ("en", "de")
CONFIG = config("multi30k-cpu")


def multi30k_facts() -> dict:
    """Count sentences, words, signs and subwords, and the pads of three batchings.

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
    subwords = Subwords.train(train["en"] + train["de"], CONFIG.vocabulary)
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
    counts = Counter(word for line in train for word in line.split())
    held_out = [word for line in val for word in line.split()]
    unknown = [
        any(word not in counts for word in line.split())  # in this sentence
        for line in val
    ]
    ids = [subwords.encode(line) for line in val]
    return {
        "words": counts.total(),
        "types": len(counts),
        "once": sum(number == 1 for number in counts.values()),
        "signs": len(set("".join(train))),
        "val_words": len(held_out),
        "val_unknown": sum(word not in counts for word in held_out),
        "val_sentences_unknown": sum(unknown),
        "val_unk": sum(i == UNK for line in ids for i in line),
        "per_sentence": {
            "words": round(fmean(len(line.split()) for line in train), 2),
            "subwords": round(fmean(len(subwords.encode(x)) for x in train), 2),
            "signs": round(fmean(len(line) for line in train), 2),
        },
    }


def padding(pairs: Sequence[IdPair], batch_tokens: int, seed: int = 0) -> dict:
    """Cut pairs into batches in three ways and look at the pads.

    As many pairs a batch as token batches have on average; those of one pass.

    Returns:
        "pairs_per_batch"; "padding": by way, the share of places that hold nothing
        but pads; "shown": by way, the lengths of the targets of one batch, with EOS.
    """
    by_tokens = token_batches(pairs, batch_tokens, random.Random(seed))
    size = round(fmean(len(batch) for batch in by_tokens))
    shuffled = random.Random(seed).sample(pairs, len(pairs))
    ways = {
        "random": [shuffled[i : i + size] for i in range(0, len(pairs), size)],
        "pooled": list(pooled(shuffled, size, random.Random(seed))),
        "tokens": by_tokens,
    }
    return {
        "pairs_per_batch": size,
        "padding": {way: round(padding_share(b), 4) for way, b in ways.items()},
        "shown": {
            way: [len([*pair.target, EOS]) for pair in batches[0]]
            for way, batches in ways.items()
        },
    }
