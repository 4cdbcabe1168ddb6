"""A trained decoder that keeps few positions: which one is worth its room?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import PAD
from attnbook.course.a3.short_cache import ShortCache, mean_first
from attnbook.course.ch06.experiment_mask_at_inference import batches, stepwise_loss
from attnbook.course.kit.experiments import experiment
from attnbook.data.batching import Batch
from attnbook.models.transformer import Transformer
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator

SIZES = (4, 6, 8)  # positions in the cache
CLOSER_LOOK = 6  # the size whose weights are read, and whose sink is averaged, too
EVERYTHING = 1000


@experiment
def sinks() -> dict:
    """Let the translator keep few positions; translate the validation data.

    Returns:
        "runs": for each "size" of the cache, and each choice of what it "keeps", the
        loss per token with the correct tokens before, in nats; and of greedy
        translations how many are "unchanged", compared with those of the full cache,
        the "bleu", the mean number of "words", and how many are "long", at least half
        as long again. The first run is the full cache. "weights": see
        :func:`mean_weights`.
    """
    translator = Translator()
    model, val = translator.model, load_texts(translator.config, "val")
    data = batches(encode_pairs(translator.subwords, val))
    full, runs = None, []
    for keeps, short in decoders(model, data):
        outputs = beam_translate(short, translator.subwords, val.source, width=1)
        full = full or outputs
        runs.append(
            {
                "size": short.size if full is not outputs else None,
                "keeps": keeps,
                "loss": round(stepwise_loss(short, data), 4),
                "bleu": round(corpus_bleu(outputs, val.target).bleu, 2),
                **compared(outputs, full),
            }
        )
        print(f"  {runs[-1]}", flush=True)
    weights = {
        k: round(w, 4) for k, w in mean_weights(model, data, CLOSER_LOOK).items()
    }
    return {"sentences": len(val.source), "weights": weights, "runs": runs}


def decoders(
    model: Transformer, data: Sequence[Batch]
) -> Iterator[tuple[str, ShortCache]]:
    """The full cache, then for each size the last positions, or one less and another.

    "sink" keeps ``BOS``; "word" the first word, a control; "average" the mean of
    ``BOS`` over all sentences, the same for each.
    """
    yield "all", ShortCache(model, EVERYTHING)
    for size in SIZES:
        yield "last", ShortCache(model, size)
        yield "word", ShortCache(model, size, always=(1,))
        yield "sink", ShortCache(model, size, always=(0,))
        if size == CLOSER_LOOK:
            first = mean_first(model, data)
            yield "average", ShortCache(model, size, always=(0,), first=first)


def compared(outputs: Sequence[str], full: Sequence[str]) -> dict:
    """How many translations a short cache leaves unchanged, and their length."""
    pairs = [*zip(outputs, full, strict=True)]
    lengths = [(len(a.split()), len(b.split())) for a, b in pairs]
    return {
        "unchanged": sum(a == b for a, b in pairs),
        "words": round(sum(a for a, _ in lengths) / len(lengths), 2),
        "long": sum(a >= 1.5 * b for a, b in lengths),
    }


@torch.no_grad()
def mean_weights(model: Transformer, data: Sequence[Batch], size: int) -> dict:
    """Where self-attention looks under teacher forcing, with the full cache.

    Returns:
        Mean weight over layers, heads and the queries that have more than ``size``
        positions to see: on position 0 ("sink"), on position 1 ("word"), on the last
        position that a cache of this size would hold ("oldest"), and an "equal" share.
    """
    found = []
    for batch in data:
        maps = attention_maps(model, batch.src, batch.tgt_in)
        own = [w for name, w in maps.items() if name.endswith("self_attention")]
        weights = torch.stack(own).mean((0, 2))  # (L, B, H, T, T) → (B, T, T)
        for row, tokens in zip(weights, (batch.tgt_in != PAD).sum(1), strict=True):
            for i in range(size, int(tokens)):
                w = row[i]
                found.append((w[0], w[1], w[i - size + 1], 1 / (i + 1)))
    means = torch.tensor(found).mean(0).tolist()
    return dict(zip(("sink", "word", "oldest", "equal"), means, strict=True))
