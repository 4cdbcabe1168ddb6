"""Appendix A1: a decoder-only model and a trigram on captions of Multi30k."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

import torch

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data import multi30k
from attnbook.data.batching import IdPair, id_batch, token_batches
from attnbook.data.subwords import Subwords
from attnbook.models.language_model import LanguageModel
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.training import fit
from experiments.ch05 import length_batches, mean_loss
from experiments.registry import experiment

SEEDS = (0, 1, 2)
EPOCHS = 10
VOCAB_SIZE = 3000  # subwords, learned from the training captions
BATCH_TOKENS = 1024
LEARNING_RATE = 4e-3  # in three epochs better than 2e-3 and 1e-3
MAX_LEN = 64
CONFIG = TransformerConfig(
    d_model=128, n_heads=4, n_layers=2, d_ff=512, dropout=0.1, norm_first=True
)
Texts = list[list[int]]


@experiment
def language_models() -> dict:
    """Train a decoder-only model on captions, and count their triples of subwords.

    Returns:
        "runs": for each seed the loss on the validation captions, "words", in nats per
        subword, over all but the ends; "trigram" has the same loss; "steps" and
        "subwords" are numbers.
    """
    texts = {split: multi30k.sentences(split, "en") for split in ("train", "val")}
    subwords = Subwords.train(texts["train"], VOCAB_SIZE)
    train, val = ([subwords.encode(t) for t in texts[s]] for s in ("train", "val"))
    size = len(subwords)
    found: dict = {"subwords": size, "epochs": EPOCHS, "learning_rate": LEARNING_RATE}
    found["trigram"] = {"words": trigram_loss(Trigram(train, size), val)}
    found["runs"] = []
    for seed in SEEDS:
        model, found["steps"] = train_decoder(train, size, seed)
        found["runs"].append({"seed": seed, "words": decoder_loss(model, val)})
        print(f"  {found['runs'][-1]}", flush=True)
    return found


def train_decoder(texts: Texts, size: int, seed: int) -> tuple[LanguageModel, int]:
    """Train a decoder-only model; also return the number of steps."""
    rng, pairs = random.Random(seed), [IdPair(ids, ids) for ids in texts]
    passes = [token_batches(pairs, BATCH_TOKENS, rng) for _ in range(EPOCHS)]
    batches = [id_batch(batch) for batches in passes for batch in batches]
    torch.manual_seed(seed)
    model = LanguageModel(replace(CONFIG, source_vocab_size=size), MAX_LEN)
    pairs = ((batch.tgt_in, batch.tgt_out) for batch in batches)
    fit(model, pairs, len(batches), LEARNING_RATE)
    return model, len(batches)


class Trigram:
    r"""The probability of a token from the two tokens before it, by counting.

    With Kneser–Ney smoothing (1995), in the interpolated form of Chen and Goodman 1998:
    what a neural language model has to beat.

    .. math::

       p(w \mid u, v) = \frac{\max(c(u, v, w) - d, 0)}{c(u, v)}
           + \frac{d\, n(u, v)}{c(u, v)}\, p(w \mid v)

    with the count c and the number n of different tokens that follow. p(w | v) and p(w)
    have the same form, but their counts are of contexts: c(v, w) is the number of
    different tokens before (v, w). The last term of p(w) is uniform.

    Args:
        sentences: Token ids, without ``BOS`` and ``EOS``.
        vocab_size: Number V of tokens.
    """

    def __init__(self, sentences: Iterable[Sequence[int]], vocab_size: int):
        self.vocab_size = vocab_size
        triples = Counter(t for s in sentences for t in triples_of(s))
        pairs = Counter(triple[1:] for triple in triples)
        singles = Counter(pair[1:] for pair in pairs)
        self.orders = [_Order(counts) for counts in (singles, pairs, triples)]

    def probability(self, token: int, before: tuple[int, int]) -> float:
        """p(token | the two tokens before); ``BOS`` stands before the first ones."""
        p = 1 / self.vocab_size
        for n, order in enumerate(self.orders):
            p = order.interpolate(token, before[2 - n :], p)
        return p

    def losses(self, sentence: Sequence[int]) -> list[float]:
        """-log p of each token of a sentence and of ``EOS``, in nats."""
        return [
            -math.log(self.probability(w, (u, v))) for u, v, w in triples_of(sentence)
        ]


class _Order:
    """Discounted counts of one order, by context."""

    def __init__(self, counts: Counter):
        self.counts = counts
        self.totals: Counter = Counter()
        self.followers: Counter = Counter()
        for key, count in counts.items():
            self.totals[key[:-1]] += count
            self.followers[key[:-1]] += 1
        once, twice = (sum(c == n for c in counts.values()) for n in (1, 2))
        # Ney, Essen and Kneser 1994; without a count of 1 there is nothing to estimate.
        self.discount = once / (once + 2 * twice) if once else 0.5

    def interpolate(self, token: int, context: tuple[int, ...], lower: float) -> float:
        """The probability of this order, given that of the lower one."""
        total = self.totals[context]
        if not total:  # a context that was never seen
            return lower
        kept = max(self.counts[*context, token] - self.discount, 0)
        return (kept + self.discount * self.followers[context] * lower) / total


def triples_of(sentence: Sequence[int]) -> list[tuple[int, int, int]]:
    """Each token of a sentence, and ``EOS``, with the two tokens before it."""
    ids = (BOS, BOS, *sentence, EOS)
    return [*zip(ids, ids[1:], ids[2:], strict=False)]


def trigram_loss(model: Trigram, texts: Texts) -> float:
    """Loss of a trigram per subword, without the ends."""
    return round(fmean(loss for ids in texts for loss in model.losses(ids)[:-1]), 4)


def decoder_loss(model: LanguageModel, texts: Texts) -> float:
    """Loss of a decoder-only model per subword, without the ends."""
    batches = length_batches([IdPair(ids, ids) for ids in texts])
    words = [
        batch._replace(tgt_out=batch.tgt_out.masked_fill(batch.tgt_out == EOS, PAD))
        for batch in batches
    ]
    return round(mean_loss(lambda _, tgt_in: model(tgt_in), words), 4)
