r"""Counts of word triples as a language model, with Kneser–Ney smoothing.

Kneser and Ney 1995, in the interpolated form of Chen and Goodman 1998. It is what a
neural language model has to beat.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS


class Trigram:
    r"""The probability of a token from the two tokens before it.

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
        check_sizes(vocab_size=vocab_size)
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
