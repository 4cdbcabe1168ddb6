"""Appendix A3: sinks, and recall by linear attention."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import EOS, PAD
from attnbook.course.kit.toy_translation import THREE_SEEDS
from attnbook.data.batching import Batch
from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.layers import LayerCache
from attnbook.nn.linear_attention import LinearAttention
from attnbook.nn.multi_head import KeysValues
from attnbook.nn.sequence_layers import SelfAttentionLayer
from attnbook.toy.task_models import InductionModel
from attnbook.toy.tasks import induction_batches, last_position_accuracy
from attnbook.toy.training import LEARNING_RATE, fit
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.ch04 import TRANSLATORS
from experiments.ch05 import length_batches
from experiments.registry import sweep

# Sinks: trained decoders that keep few positions, with ``BOS`` or without it

SIZE = 6  # positions in the cache
EVERYTHING = 1000
KEPT: dict[str, Callable[[Transformer, Sequence[Batch]], ShortCache]] = {
    "all": lambda model, _: ShortCache(model, EVERYTHING),
    "words": lambda model, _: ShortCache(model, SIZE, range(1, EVERYTHING)),
    "last": lambda model, _: ShortCache(model, SIZE),
    "word": lambda model, _: ShortCache(model, SIZE, (1,)),
    "sink": lambda model, _: ShortCache(model, SIZE, (0,)),
    "average": lambda model, data: averaged(model, data),
    "no values": lambda model, _: ShortCache(model, SIZE, (0,), without_values),
}
"""What the cache keeps: everything, everything but ``BOS``, or six positions.

Six are the last ones, or the last five and the first word, a control, or the last five
and ``BOS``. Once the cache is full, "average" replaces ``BOS`` by its mean over all
sentences, and "no values" sets its values to 0.
"""


class Validation(NamedTuple):
    """A translator of the package, and the validation captions in its direction."""

    translator: Translator
    texts: Texts
    batches: list[Batch]


@cache
def validation(name: str) -> Validation:
    """Load a translator of the package, and what it is measured on."""
    translator = Translator(TRANSLATORS[name])
    texts = load_texts(replace(translator.config, data="multi30k"), "val")
    data = length_batches(encode_pairs(translator.subwords, texts))
    return Validation(translator, texts, data)


@cache
def translations(name: str, keeps: str) -> tuple[ShortCache, list[str]]:
    """What a translator is with a short cache, and its greedy translations."""
    translator, texts, data = validation(name)
    short = KEPT[keeps](translator.model, data)
    outputs = beam_translate(short, translator.subwords, texts.source, width=1)
    return short, outputs


@sweep(translator=TRANSLATORS, keeps=KEPT, size=SIZE, sentences=1014)
def sinks(translator: str, keeps: str) -> dict:
    """Let a translator keep few positions; translate the validation captions.

    Returns:
        What :func:`with_correct_tokens` measures; and of greedy translations how many
        are "unchanged", compared with those of the full cache, the "bleu", the mean
        number of "words", and how many are "long", at least half as long again.
    """
    loaded, texts, data = validation(translator)
    short, outputs = translations(translator, keeps)
    return {
        **with_correct_tokens(short, data, (*loaded.subwords.encode(".")[-1:], EOS)),
        "bleu": round(corpus_bleu(outputs, texts.target).bleu, 2),
        **compared(outputs, translations(translator, "all")[1]),
    }


@torch.no_grad()
def with_correct_tokens(
    short: ShortCache, data: Sequence[Batch], ends: Sequence[int]
) -> dict:
    """What the decoder predicts if every step sees the reference's tokens before it.

    Returns:
        The "loss" per token, in nats. For tokens that a cache of ``SIZE``
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
        late = torch.arange(tgt.shape[1]).expand_as(tgt) >= SIZE
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


# The cache that keeps few positions: the last ones, and some for ever

Change = Callable[[Sequence[KeysValues]], Sequence[KeysValues]]
"""Of position 0: from its keys and values in each layer to those that replace them."""


class ShortState(NamedTuple):
    """What :class:`ShortCache` carries from step to step."""

    inner: TransformerState
    held: tuple[int, ...]  # the positions whose keys and values are in the cache
    position: int  # of the next token


class ShortCache(nn.Module):
    """Decodes with a trained Transformer, and drops keys and values on the way.

    Args:
        model: In eval mode.
        size: Positions to which a token may attend, its own included. The first token
            for which there is no room has this position.
        always: Positions that are never dropped, even if there is no room.
        change: What becomes of position 0 once the cache is full, if it is kept.
    """

    def __init__(
        self,
        model: Transformer,
        size: int,
        always: Collection[int] = (),
        change: Change | None = None,
    ):
        super().__init__()
        self.model, self.size, self.always, self.change = model, size, always, change

    def start(self, src: Tensor) -> ShortState:
        """Read the source, (B, S)."""
        return ShortState(self.model.start(src), (), 0)

    def step(self, token: Tensor, state: ShortState) -> tuple[Tensor, ShortState]:
        """Read a token, (B,); predict the next, (B, V); drop what has no room."""
        m, (inner, held, position) = self.model, state
        y = m.positions(m.target_embedding(token[:, None]), offset=position)
        caches = []
        for layer, held_by in zip(m.decoder, inner.layers, strict=True):
            y, kept = layer.step(y, held_by, inner.source_mask)
            caches.append(kept)
        logits = m.out(m.decoder_norm(y))[:, 0]  # (B, V)
        if position == self.size - 1 and self.change is not None:
            new = self.change([_first(cache) for cache in caches])
            caches = [_with_first(*pair) for pair in zip(caches, new, strict=True)]
        held = (*held, position)
        rows = self.rows_to_keep(held)
        caches = [_select(cache, rows) for cache in caches]
        held = tuple(held[i] for i in rows)
        inner = TransformerState(tuple(caches), inner.source_mask)
        return logits, ShortState(inner, held, position + 1)

    def rows_to_keep(self, held: Sequence[int]) -> list[int]:
        """Make room for the next position: the oldest that may go is dropped."""
        rows = list(range(len(held)))
        may_go = [i for i in rows if held[i] not in self.always]
        if len(rows) >= self.size and may_go:
            rows.remove(may_go[0])
        return rows


def _select(cache: LayerCache, rows: list[int]) -> LayerCache:
    k, v = cache.target
    return cache._replace(target=KeysValues(k[:, :, rows], v[:, :, rows]))


def _first(cache: LayerCache) -> KeysValues:
    return KeysValues(*(x[:, :, :1] for x in cache.target))


def _with_first(cache: LayerCache, new: KeysValues) -> LayerCache:
    joined = []
    for x, first in zip(cache.target, new, strict=True):
        joined.append(torch.cat([first.expand(len(x), -1, -1, -1), x[:, :, 1:]], 2))
    return cache._replace(target=KeysValues(*joined))


def without_values(first: Sequence[KeysValues]) -> list[KeysValues]:
    """Let position 0 take its share of the weight, but add nothing to the output."""
    return [KeysValues(k, torch.zeros_like(v)) for k, v in first]


def averaged(model: Transformer, data: Sequence[Batch]) -> ShortCache:
    """Keep the last positions, and ``BOS`` as it is on average."""
    mean = mean_first(model, data)
    return ShortCache(model, SIZE, (0,), lambda _: mean)


@torch.no_grad()
def mean_first(model: Transformer, data: Sequence[Batch]) -> list[KeysValues]:
    """Average position 0 over all sentences: per layer, (1, H, 1, d_k) each."""
    found = []
    for batch in data:
        _, state = model.step(batch.tgt_in[:, 0], model.start(batch.src))
        found.append([cache.target for cache in state.layers])
    layers = zip(*found, strict=True)
    return [
        KeysValues(
            *(torch.cat(x).mean(0, keepdim=True) for x in zip(*layer, strict=True))
        )
        for layer in layers
    ]


# What a state of fixed size can recall: linear attention against softmax attention

D_MODEL = 64
HEADS = (1, 2, 4, 8, 16, 32)  # heads of 64, 32, 16, 8, 4 and 2 features
N = 17  # positions: 16 different symbols, and one of them again
RECALL_STEPS = 800

LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "softmax": SelfAttentionLayer,
    "linear": LinearAttention,
}


@sweep(
    kind=LAYERS,
    heads=HEADS,
    n=N,
    steps=RECALL_STEPS,
    rate=LEARNING_RATE,
    d_model=D_MODEL,
    seeds=THREE_SEEDS,
)
def linear_state(kind: str, heads: int) -> dict:
    """Train attention with heads of a width, "d_k": the "accuracy" of each seed."""
    found = [recall_accuracy(kind, heads, seed, RECALL_STEPS) for seed in THREE_SEEDS]
    return {"d_k": D_MODEL // heads, "accuracy": [round(x, 4) for x in found]}


def recall_accuracy(kind: str, heads: int, seed: int, steps: int, n: int = N) -> float:
    """Train one layer on the induction task, and test it."""
    torch.manual_seed(seed)
    model = InductionModel(LAYERS[kind](D_MODEL, heads), D_MODEL)
    fit(model, induction_batches(n, seed), steps, LEARNING_RATE)
    return last_position_accuracy(
        model, next(induction_batches(n, 1000 + seed, batch_size=2000))
    )
