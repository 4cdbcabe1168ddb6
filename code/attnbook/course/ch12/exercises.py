"""Exercises of chapter 12."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from attnbook.course.kit.exercises.checking import register, wrong


def _next_merge(
    segmented: dict[str, list[str]],
    counts: dict[str, int],
    weigh: bool = True,
    once: bool = False,
) -> tuple[str, str]:
    found: Counter = Counter()
    for word, symbols in segmented.items():
        pairs = list(pairwise(symbols))
        for pair in dict.fromkeys(pairs) if once else pairs:
            found[pair] += counts[word] if weigh else 1
    return max(found, key=found.get)


def _segmented_words() -> list[tuple[dict, dict]]:
    """Words in symbols, and how often each occurs; one pair is the most frequent."""
    words = (
        {"▁ an": 3, "▁ i n": 4, "▁ t i n": 2},
        {"▁ r est": 9, "▁ w est": 6, "▁ r i s e": 4, "▁ w i d e": 1, "▁ w e t": 2},
        {"▁ b a n a n a": 3, "▁ b a t": 2, "▁ a n": 1},
        {"▁ t i n": 4, "▁ k i n": 3, "▁ l an e": 5, "▁ p an": 4, "▁ a n": 3},
        {"▁ a n a n": 2, "▁ b": 5},
    )
    return [
        (
            {word.replace(" ", ""): word.split() for word in counts},
            {word.replace(" ", ""): number for word, number in counts.items()},
        )
        for counts in words
    ]


register(
    "ex12_next_merge",
    reference=_next_merge,
    inputs=_segmented_words,
    hint="Add counts[word] for every two adjacent symbols of a word.",
    mistakes=wrong(
        lambda segmented, counts: _next_merge(segmented, counts, weigh=False),
        "A word that occurs nine times has its pairs nine times: add counts[word].",
        lambda segmented, counts: _next_merge(segmented, counts, once=True),
        "A pair may occur in one word twice, as a n in banana: count both.",
        lambda segmented, counts: "".join(_next_merge(segmented, counts)),
        "Return the two symbols as a pair, not joined.",
        lambda segmented, counts: _next_merge(
            {word: list(word) for word in segmented}, counts
        ),
        "Count the symbols of a word, not its characters: some are merged already.",
    ),
)


def _learning_rates(
    updates: int,
    peak: float,
    warmup: int,
    first: int = 1,
    choose: Callable[..., float] = min,
) -> list[float]:
    steps = range(first, first + updates)
    return [
        peak * choose(step / warmup, (warmup / max(step, 1)) ** 0.5) for step in steps
    ]


register(
    "ex12_learning_rates",
    reference=_learning_rates,
    inputs=lambda: [(10, 4e-3, 4), (6, 1.0, 1), (3, 0.5, 100)],
    hint="At update `warmup` both are 1. Which of them is smaller before, and after?",
    mistakes=wrong(
        lambda updates, peak, warmup: _learning_rates(updates, peak, warmup, 0, max),
        (
            "It falls first and then grows without end: take the smaller term. And "
            "what is the learning rate of the first update?"
        ),
        lambda updates, peak, warmup: _learning_rates(updates, peak, warmup, 0),
        "The first update has a learning rate of 0 and changes nothing: count from 1.",
        lambda updates, peak, warmup: _learning_rates(updates, peak, warmup, 1, max),
        "It falls first and then grows without end: take the smaller term.",
    ),
)

register(
    "ex12_matches",
    reference=[4, 2, 0, 0],
    hint="Write down the reference's pairs of words, and how often each occurs.",
    mistakes=wrong(
        [8, 7, 6, 5],
        "These are the n-grams of the output; a match must be in the reference.",
        [8, 4, 0, 0],
        "An n-gram counts at most as often as it occurs in the reference.",
    ),
)
