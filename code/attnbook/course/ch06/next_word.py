"""The chapter's language model, as its page builds it, and what is measured of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.steps import token_log_probs
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.data import SOURCE
from attnbook.toy.language import ADJECTIVES, DETERMINERS, NOUNS, VERBS, Pair
from attnbook.toy.next_words import next_word_batches
from attnbook.toy.training import fit

MaskOf = Callable[[Tensor], Tensor]  # ids, (B, T), to a mask


class NextWord(nn.Module):
    """Two layers of self-attention, each added to what it reads."""

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


def train(mask_of: MaskOf, seed: int = 0) -> tuple[NextWord, float]:
    """Train as on the page; the model, and the mean loss of the last 20 steps."""
    torch.manual_seed(seed)
    model = NextWord()
    losses = fit(model, next_word_batches(mask_of, seed), 200, learning_rate=1e-2)
    return model, sum(losses[-20:]) / 20


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
        for one, next_ in _neighbours(pair):
            counts[one, next_] += 1
    odds = (counts / counts.sum(1, keepdim=True)).log()
    losses = [-odds[at].item() for pair in pairs for at in _neighbours(pair)]
    return sum(losses) / len(losses)


def _neighbours(pair: Pair) -> list[tuple[int, int]]:
    ids = SOURCE.encode(pair.source)
    return [*zip([BOS, *ids], [*ids, EOS], strict=True)]


def accuracy(logits: Tensor, targets: Tensor) -> float:
    """Share of the targets, (B, T), that are the most probable word."""
    right = logits.argmax(-1) == targets
    return right[targets != PAD].float().mean().item()
