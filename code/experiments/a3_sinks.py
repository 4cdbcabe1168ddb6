"""A trained decoder that keeps few positions: which one is worth its room?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import EOS, PAD
from attnbook.course.a3.short_cache import ShortCache, mean_first, without_values
from attnbook.data.batching import Batch
from attnbook.models.transformer import Transformer
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.ch06 import batches
from experiments.registry import experiment

SIZES = (4, 6)  # positions in the cache
CLOSER_LOOK = 6  # the size whose weights are read, and whose ``BOS`` is changed, too
EVERYTHING = 1000
EXAMPLE = "A man and a woman talk while standing next to a tree."


@experiment
def sinks() -> dict:
    """Let the translator keep few positions; translate the validation data.

    Returns:
        "runs": for each "size" of the cache, and each choice of what it "keeps", what
        :func:`with_correct_tokens` measures; and of greedy translations how many are
        "unchanged", compared with those of the full cache, the "bleu", the mean number
        of "words", how many are "long", at least half as long again, and the one of
        the "example". The first run is the full cache. "weights": see
        :func:`mean_weights`.
    """
    translator = Translator()
    model, val = translator.model, load_texts(translator.config, "val")
    subwords = translator.subwords
    data = batches(encode_pairs(subwords, val))
    (full_stop,) = subwords.encode(".")[-1:]
    full, runs = None, []
    for keeps, short in decoders(model, data):
        outputs = beam_translate(short, subwords, val.source, width=1)
        full = full or outputs
        runs.append(
            {
                "size": short.size if short.size < EVERYTHING else None,
                "keeps": keeps,
                **with_correct_tokens(short, data, (full_stop, EOS)),
                "bleu": round(corpus_bleu(outputs, val.target).bleu, 2),
                **compared(outputs, full),
                "example": beam_translate(short, subwords, [EXAMPLE], width=1)[0],
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

    "sink" keeps ``BOS``; "word" the first word, a control. Once the cache is full,
    "average" replaces ``BOS`` by its mean over all sentences, "no values" sets its
    values to 0, and "words" keeps everything but ``BOS``.
    """
    yield "all", ShortCache(model, EVERYTHING)
    for size in SIZES:
        yield "last", ShortCache(model, size)
        yield "word", ShortCache(model, size, always=(1,))
        yield "sink", ShortCache(model, size, always=(0,))
    mean, size = mean_first(model, data), CLOSER_LOOK
    yield "average", ShortCache(model, size, always=(0,), change=lambda _: mean)
    yield "no values", ShortCache(model, size, always=(0,), change=without_values)
    yield "words", ShortCache(model, size, always=range(1, EVERYTHING))


@torch.no_grad()
def with_correct_tokens(
    short: ShortCache, data: Sequence[Batch], ends: Sequence[int]
) -> dict:
    """What the decoder predicts if every step sees the reference's tokens before it.

    Returns:
        The "loss" per token, in nats. For tokens that a cache of ``CLOSER_LOOK``
        positions can't all hold: the loss where the reference has one of the tokens
        ``ends``, "loss_end", and elsewhere, "loss_other"; and the mean probability of
        these tokens where the reference goes on, "early_end".
    """
    found = []
    for batch in data:
        state, steps = short.start(batch.src), []
        for token in batch.tgt_in.unbind(1):
            logits, state = short.step(token, state)  # (B, V)
            steps.append(logits.log_softmax(-1))
        log_p, tgt = torch.stack(steps, 1), batch.tgt_out  # (B, T, V), (B, T)
        loss = -log_p.gather(-1, tgt[..., None])[..., 0]  # (B, T)
        end = log_p[..., [*ends]].exp().sum(-1)  # (B, T)
        late = torch.arange(tgt.shape[1]).expand_as(tgt) >= CLOSER_LOOK
        is_end = torch.isin(tgt, torch.tensor(ends))
        found.append(torch.stack([loss, end, late, is_end], -1)[tgt != PAD])  # (N, 4)
    loss, end, late, is_end = torch.cat(found).unbind(-1)
    at_end, goes_on = (late * is_end).bool(), (late * (1 - is_end)).bool()
    measured = {
        "loss": loss,
        "loss_end": loss[at_end],
        "loss_other": loss[goes_on],
        "early_end": end[goes_on],
    }
    return {name: round(x.mean().item(), 4) for name, x in measured.items()}


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
