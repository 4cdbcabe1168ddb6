"""Appendix A1: decoder-only, encoder-only and trigram on captions of Multi30k."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.a1.writing import TokenModel
from attnbook.data import multi30k
from attnbook.data.batching import IdPair, id_batch, pad, token_batches
from attnbook.data.subwords import Subwords
from attnbook.decoding.sampling import sample
from attnbook.decoding.steps import token_log_probs
from attnbook.models.language_model import LanguageModel
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from attnbook.toy.training import fit
from experiments.a1_toy import hide_tokens
from experiments.registry import experiment

SEEDS = (0, 1, 2)
EPOCHS = 10
VOCAB_SIZE = 3000  # subwords, learned from the training captions
BATCH_TOKENS = 1024
LEARNING_RATES = (1e-3, 2e-3, 4e-3)  # of which each model gets its own best
TRIAL_EPOCHS = 3  # in which the learning rates are compared, with one seed
TRIAL_TEXTS = 200  # validation captions that they are compared on
SHARE = 0.3  # of the words hidden in training
MAX_LEN = 64
CONFIG = TransformerConfig(
    d_model=128, n_heads=4, n_layers=2, d_ff=512, dropout=0.1, norm_first=True
)
N_SAMPLES = 6
TOP_P = 0.9
WITH_GAPS = (
    "A dog ___ through the snow.",
    "Two women are sitting on a ___.",
    "A ___ in a red shirt is playing the guitar.",
)
Texts = list[list[int]]


@experiment
def language_models() -> dict:
    """Train both models for equally many steps on the same captions, and compare.

    Returns:
        "trials": for each model and learning rate the loss after a few epochs on some
        of the validation captions; the full runs take the best rate. "runs": for each
        model and seed the loss on the validation captions, in nats per subword, over
        all subwords and the end ("with_end"; None for the encoder) and over all but the
        end ("words"). The decoder sees the subwords before each; the encoder all
        others, one being hidden at a time. "trigram" has the same two losses, "steps"
        and "subwords" are numbers, "samples" are captions drawn from the decoder of
        seed 0 with ``top_p``, "known" says how many of a hundred are training captions,
        and "gaps" what the encoder of seed 0 puts into ``___``.
    """
    texts = {split: multi30k.sentences(split, "en") for split in ("train", "val")}
    subwords = Subwords.train(texts["train"], VOCAB_SIZE)
    train, val = ([subwords.encode(t) for t in texts[s]] for s in ("train", "val"))
    size = len(subwords)
    found: dict = {"subwords": size, "epochs": EPOCHS, "share": SHARE, "top_p": TOP_P}
    found["trigram"] = split_losses(Trigram(train, size), val)
    found |= {"trials": [], "runs": []}
    models = {}
    for name, (fit_model, losses_of) in KINDS.items():
        for rate in LEARNING_RATES:
            model, _ = fit_model(train, size, SEEDS[0], rate, TRIAL_EPOCHS)
            losses = losses_of(model, val[:TRIAL_TEXTS], size)
            found["trials"].append({"model": name, "learning_rate": rate, **losses})
            print(f"  {found['trials'][-1]}", flush=True)
        rate = best_rate(found["trials"], name)
        for seed in SEEDS:
            model, found["steps"] = fit_model(train, size, seed, rate, EPOCHS)
            losses = losses_of(model, val, size)
            run = {"model": name, "seed": seed, "learning_rate": rate, **losses}
            found["runs"].append(run)
            print(f"  {run}", flush=True)
            models.setdefault(name, model)
    drawn = captions(models["decoder-only"], subwords, number=100)
    found["samples"] = drawn[:N_SAMPLES]
    found["known"] = len([text for text in drawn if text in set(texts["train"])])
    found["gaps"] = [fill(models["encoder-only"], subwords, t) for t in WITH_GAPS]
    return found


def best_rate(trials: Sequence[dict], name: str) -> float:
    """The learning rate of a model's lowest loss."""
    mine = [trial for trial in trials if trial["model"] == name]
    return min(mine, key=lambda trial: trial["words"])["learning_rate"]


def all_batches(texts: Texts, seed: int, epochs: int) -> list[list[IdPair]]:
    """All batches of a training run, in order."""
    rng = random.Random(seed)
    pairs = [IdPair(ids, ids) for ids in texts]
    passes = (token_batches(pairs, BATCH_TOKENS, rng) for _ in range(epochs))
    return [batch for batches in passes for batch in batches]


def train_decoder(
    texts: Texts, size: int, seed: int, learning_rate: float, epochs: int
) -> tuple[LanguageModel, int]:
    """Train a decoder-only model; also return the number of steps."""
    batches = all_batches(texts, seed, epochs)
    torch.manual_seed(seed)
    model = LanguageModel(replace(CONFIG, source_vocab_size=size), MAX_LEN)
    pairs = ((b.tgt_in, b.tgt_out) for b in map(id_batch, batches))
    fit(model, pairs, len(batches), learning_rate)
    return model, len(batches)


def train_encoder(
    texts: Texts, size: int, seed: int, learning_rate: float, epochs: int
) -> tuple[TokenModel, int]:
    """Train an encoder-only model; id ``size`` stands for a hidden subword."""
    batches = all_batches(texts, seed, epochs)
    torch.manual_seed(seed)
    config = replace(CONFIG, source_vocab_size=size + 1)
    model = TokenModel(key_mask, config, MAX_LEN)
    g = torch.Generator().manual_seed(seed)
    pairs = (hide_tokens(id_batch(b).src, SHARE, size, g) for b in batches)
    gaps = (
        (given, targets != PAD, targets[targets != PAD]) for given, targets in pairs
    )
    fit(AtGaps(model), gaps, len(batches), learning_rate)
    return model, len(batches)


class AtGaps(nn.Module):
    """Logits where they have a target: at the others they would cost and not count."""

    def __init__(self, model: TokenModel):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, gaps: Tensor) -> Tensor:
        """Logits of N tokens, (N, V), for ids and their gaps, (B, T) each."""
        return self.model.encode(ids)[gaps] @ self.model.W_e.T


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


def split_losses(model: Trigram, texts: Texts) -> dict[str, float]:
    """Loss of a trigram per subword, with the end of each text and without it."""
    losses = [model.losses(ids) for ids in texts]
    both = {
        "with_end": [loss for text in losses for loss in text],
        "words": [loss for text in losses for loss in text[:-1]],
    }
    return {name: round(fmean(numbers), 4) for name, numbers in both.items()}


@torch.no_grad()
def decoder_losses(model: LanguageModel, texts: Texts) -> dict:
    """Loss of a decoder-only model per subword, with the ends and without them."""
    sums, numbers = torch.zeros(2), torch.zeros(2)
    for rows in in_batches(texts):
        ids, targets = pad([[BOS, *r] for r in rows]), pad([[*r, EOS] for r in rows])
        losses = nats(model(ids), targets)  # (B, T)
        for i, counted in enumerate((targets != PAD, targets > EOS)):
            sums[i] += losses[counted].sum()
            numbers[i] += counted.sum()
    with_end, words = (sums / numbers).tolist()
    return {"with_end": round(with_end, 4), "words": round(words, 4)}


@torch.no_grad()
def encoder_losses(model: TokenModel, texts: Texts, mask_id: int) -> dict:
    """Loss per subword if each one is hidden in turn, and all others are seen."""
    total = number = 0
    for rows in in_batches(one_hidden(texts, mask_id)):
        ids = pad([[*row, EOS] for row, _, _ in rows])
        places = torch.tensor([place for _, place, _ in rows])
        targets = torch.tensor([target for _, _, target in rows])
        logits = model(ids)[torch.arange(len(rows)), places]  # (B, V)
        total += nats(logits, targets).sum().item()
        number += len(rows)
    return {"with_end": None, "words": round(total / number, 4)}


def one_hidden(texts: Texts, mask_id: int) -> list[tuple[list[int], int, int]]:
    """Every text with every token hidden in turn: ids, its position, what it was."""
    return [
        ([*ids[:i], mask_id, *ids[i + 1 :]], i, token)
        for ids in texts
        for i, token in enumerate(ids)
    ]


def nats(logits: Tensor, targets: Tensor) -> Tensor:
    """-log p of each target: (…, V) and (…) → (…)."""
    return -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]


def in_batches(rows: Sequence, size: int = 128) -> Iterator[Sequence]:
    """Rows sorted by the length of their ids, in batches."""
    ordered = sorted(
        rows, key=lambda row: len(row[0] if isinstance(row, tuple) else row)
    )
    yield from (ordered[i : i + size] for i in range(0, len(ordered), size))


def captions(model: LanguageModel, subwords: Subwords, number: int) -> list[str]:
    """Draw captions, with a seed of their own."""
    g = torch.Generator().manual_seed(0)
    nothing = torch.zeros(number, 0, dtype=torch.int64)
    ids = sample(model, nothing, MAX_LEN - 1, g, top_p=TOP_P)
    return [subwords.decode(row) for row in ids.tolist()]


@torch.no_grad()
def fill(model: nn.Module, subwords: Subwords, text: str, best: int = 4) -> dict:
    """The most probable subwords for the gap ``___`` of a text, with probabilities."""
    left, right = text.split("___")
    mask_id = len(subwords)
    after = subwords.encode(right.strip())
    if not right.startswith(" "):  # as before a full stop: no ▁ there in training
        after = after[1:]
    ids = [*subwords.encode(left.strip()), mask_id, *after, EOS]
    logits = model(torch.tensor([ids]))[0, ids.index(mask_id), :mask_id]
    top = token_log_probs(logits).exp().topk(best)
    words = [subwords.decode([i]).strip() for i in top.indices.tolist()]
    found = zip(words, top.values.tolist(), strict=True)
    return {"text": text, "words": [[word, round(p, 3)] for word, p in found]}


KINDS = {
    "decoder-only": (
        train_decoder,
        lambda model, texts, _: decoder_losses(model, texts),
    ),
    "encoder-only": (train_encoder, encoder_losses),
}
"""How each model is trained and scored."""
