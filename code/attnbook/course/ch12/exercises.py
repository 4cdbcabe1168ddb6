"""Exercises of chapter 12."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from attnbook.course.kit.exercises.checking import register, wrong
from attnbook.data.bpe_from_scratch import apply_merges


def _merges(
    words: dict[str, int],
    n: int,
    weigh: bool = True,
    anew: bool = True,
    first: Callable = min,
) -> list[tuple[str, str]]:
    """By counting all pairs again after each merge, or only once."""
    segmented, found = {word: [*word] for word in words}, []
    while len(found) < n:
        if anew or not found:
            counts: Counter = Counter()
            for word, symbols in segmented.items():
                for pair in pairwise(symbols):
                    counts[pair] += words[word] if weigh else 1
        if not counts:
            break
        most = max(counts.values())
        best = first(pair for pair in counts if counts[pair] == most)
        del counts[best]
        found.append(best)
        segmented = {word: apply_merges(word, found) for word in words}
    return found


register(
    "ex12_merges",
    reference=_merges,
    inputs=lambda: [
        ({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 6),
        ({"banana": 3, "bandana": 1, "ban": 2}, 20),
        ({"a": 4, "aa": 1, "aaa": 2}, 3),
        ({}, 2),
    ],
    hint="Which counts change in a word when two of its symbols become one?",
    mistakes=wrong(
        lambda words, n: _merges(words, n, anew=False),
        "Take the pairs that are gone out of the counts, and put the new ones in.",
        lambda words, n: _merges(words, n, weigh=False),
        "A word that occurs five times has its pairs five times.",
        lambda words, n: _merges(words, n, first=max),
        "Of pairs that are equally frequent, take the alphabetically first.",
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
