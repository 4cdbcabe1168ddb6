"""Chapter 6's language model, with and without a causal mask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import torch
from torch import Tensor, nn

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.kit.toy_translation import THREE_SEEDS
from attnbook.decoding.steps import token_log_probs
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask, target_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.data import (
    SOURCE,
    held_out_pairs,
    next_word_batches,
    shifted_words,
    toy_pairs,
)
from attnbook.toy.language import (
    ADJECTIVES,
    DETERMINERS,
    NOUNS,
    VERBS,
    Pair,
    is_sentence,
)
from attnbook.toy.training import fit
from experiments.registry import experiment

SAMPLES = 200
STEPS, RATE = 200, 1e-2
MaskOf = Callable[[Tensor], Tensor]  # ids, (B, T), to a mask


class NextWord(nn.Module):
    """Two layers of self-attention, each added to what it reads, as on the page."""

    def __init__(self, n_layers: int = 2, d_model: int = 64):
        super().__init__()
        self.embedding = nn.Embedding(len(SOURCE), d_model)
        self.positions = nn.Embedding(32, d_model)  # for up to 32 positions
        self.layers = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads=2) for _ in range(n_layers)
        )
        self.out = nn.Linear(d_model, len(SOURCE))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Map ids, (B, T), to logits, (B, T, V)."""
        x = self.embedding(ids) + self.positions.weight[: ids.shape[1]]  # (B, T, D)
        for layer in self.layers:
            x = x + layer(x, x, x, mask)  # (B, T, D)
        return self.out(x)  # (B, T, V)


@experiment
def next_word() -> dict:
    """Train both models with three seeds and measure what the chapter says of them.

    Returns:
        "least_loss" and "last_word_loss": of who knows the grammar, and of a table of
        word pairs; "runs": for each seed and mask the losses in training and on 1,024
        held-out sentences, at once and word by word, in nats per token; how many of 200
        samples are sentences; of all words that are followed by another one, for how
        many the next word has the largest influence ("next_largest" of "rows").
    """
    pairs = held_out_pairs(1) + held_out_pairs(2)
    runs = []
    for seed in THREE_SEEDS:
        for mask_of in (key_mask, target_mask):
            runs.append({"seed": seed, **train_and_measure(mask_of, seed, pairs)})
            print(f"  {runs[-1]}", flush=True)
    counted = islice(toy_pairs(99, clauses=(1, 2)), 50_000)
    return {
        "sentences": len(pairs),
        "samples": SAMPLES,
        "least_loss": round(least_loss(pairs), 5),
        "last_word_loss": round(loss_by_last_word(pairs, counted), 5),
        "runs": runs,
    }


def train_and_measure(mask_of: MaskOf, seed: int, pairs: Sequence[Pair]) -> dict:
    """One run: train as on the page, and measure."""
    torch.manual_seed(seed)
    model = NextWord()
    losses = fit(model, next_word_batches(mask_of, seed), STEPS, RATE)
    ids, targets = shifted_words(pairs)
    with torch.no_grad():
        logits = model(ids, mask_of(ids))
    one_by_one = word_by_word(model, mask_of, ids)
    largest, rows = next_is_largest(model, mask_of, pairs[:40])
    return {
        "mask": mask_of.__name__,
        "training_loss": round(sum(losses[-20:]) / 20, 4),
        "loss": round(token_loss(logits, targets).item(), 4),
        "loss_word_by_word": round(token_loss(one_by_one, targets).item(), 4),
        "grammatical": sum(map(is_sentence, write(model, mask_of, SAMPLES, seed))),
        "next_largest": largest,
        "rows": rows,
    }


@torch.no_grad()
def word_by_word(model: nn.Module, mask_of: MaskOf, ids: Tensor) -> Tensor:
    """Logits, (B, T, V), each from the words up to its position alone."""
    prefixes = [ids[:, :t] for t in range(1, ids.shape[1] + 1)]
    return torch.stack([model(p, mask_of(p))[:, -1] for p in prefixes], 1)


@torch.no_grad()
def write(
    model: nn.Module, mask_of: MaskOf, number: int, seed: int = 0, longest: int = 24
) -> list[str]:
    """Let a model write sentences, each word drawn from its distribution."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.full((number, 1), BOS)
    for _ in range(longest):
        logits = model(ids, mask_of(ids))[:, -1]  # (B, V)
        odds = token_log_probs(logits).softmax(-1)
        ids = torch.cat([ids, odds.multinomial(1, generator=g)], 1)
    return [" ".join(SOURCE.decode(row)) for row in ids.tolist()]


def next_is_largest(
    model: nn.Module, mask_of: MaskOf, pairs: Sequence[Pair]
) -> tuple[int, int]:
    """At how many positions, of all but the last, the next word moves the odds most.

    Each word in turn becomes *robot*, or *king* where it is *robot*.
    """
    robot, king = SOURCE.encode(["robot", "king"])

    def odds(ids: Tensor) -> Tensor:
        return model(ids, mask_of(ids)).softmax(-1)

    largest = rows = 0
    for pair in pairs:
        ids, _ = shifted_words([pair])  # (1, T)
        moved = influence(odds, ids, torch.where(ids == robot, king, robot))
        next_ = torch.arange(1, len(moved))
        largest += int((moved[:-1].argmax(1) == next_).sum())
        rows += len(next_)
    return largest, rows


# The best that can be reached


def least_loss(pairs: Iterable[Pair]) -> float:
    """Loss of who knows the grammar, in nats per token: sentences of 1 or 2 clauses.

    Each phrase is one of 252 that are equally probable, each verb one of 8, and a
    second clause follows with probability ½.
    """
    phrase = len(DETERMINERS) * (len(ADJECTIVES) + 1) * len(NOUNS)
    clause = 2 * math.log(phrase) + math.log(len(VERBS))
    pairs = list(pairs)
    nats = sum(pair.clauses * clause + math.log(2) for pair in pairs)
    return nats / sum(len(pair.source) + 1 for pair in pairs)


def loss_by_last_word(pairs: Iterable[Pair], of: Iterable[Pair]) -> float:
    """Loss of a table of which word follows which, counted in some sentences."""
    counts = torch.zeros(len(SOURCE), len(SOURCE), dtype=torch.float64)
    for pair in of:
        for one, next_ in neighbours(pair):
            counts[one, next_] += 1
    odds = (counts / counts.sum(1, keepdim=True)).log()
    losses = [-odds[at].item() for pair in pairs for at in neighbours(pair)]
    return sum(losses) / len(losses)


def neighbours(pair: Pair) -> list[tuple[int, int]]:
    """Each word of a source and the next one, from ``BOS`` to ``EOS``."""
    ids = SOURCE.encode(pair.source)
    return [*zip([BOS, *ids], [*ids, EOS], strict=True)]
