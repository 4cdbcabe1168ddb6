"""Exercises of chapter 12."""

from collections import Counter
from itertools import pairwise

from attnbook.course.kit.exercises.short_exercises import exercise
from attnbook.data.bpe_from_scratch import apply_merges


@exercise(
    lambda: [
        ({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 6),
        ({"banana": 3, "bandana": 1, "ban": 2}, 20),
        ({"a": 4, "aa": 1, "aaa": 2}, 3),
        ({}, 2),
    ]
)
def ex12_merges(words: dict[str, int], n: int) -> list[tuple[str, str]]:
    """Which counts change in a word when two of its symbols become one?

    in pairwise(symbols) => in (x for x in pairwise(symbols) if x not in found)
    segmented = {word: apply_merges(word, found) for word in words} =>
        Take the pairs that are gone out of the counts, and put the new ones in.
    += words[word] => += 1
        A word that occurs five times has its pairs five times.
    best = min( => best = max(
        Of pairs that are equally frequent, take the alphabetically first.
    """
    segmented, found = {word: [*word] for word in words}, []
    while len(found) < n:
        counts: Counter = Counter()
        for word, symbols in segmented.items():
            for pair in pairwise(symbols):
                counts[pair] += words[word]
        if not counts:
            break
        most = max(counts.values())
        best = min(pair for pair in counts if counts[pair] == most)
        found.append(best)
        segmented = {word: apply_merges(word, found) for word in words}
    return found


@exercise(lambda: [(10, 4e-3, 4), (6, 1.0, 1), (3, 0.5, 100)])
def ex12_learning_rates(updates: int, peak: float, warmup: int) -> list[float]:
    """At update `warmup` both are 1. Which of them is smaller before, and after?

    range(1, updates + 1) => range(updates)
    min( => max(
        It falls first and then grows without end: take the smaller term. And what is
        the learning rate of the first update?
    range(1, updates + 1) => range(updates)
        The first update has a learning rate of 0 and changes nothing: count from 1.
    min( => max(
        It falls first and then grows without end: take the smaller term.
    """
    return [
        peak * min(step / warmup, (warmup / (step or 1)) ** 0.5)
        for step in range(1, updates + 1)
    ]


@exercise()
def ex12_matches() -> list[int]:
    """Write down the reference's pairs of words, and how often each occurs.

    4, 2, 0, 0 => 8, 7, 6, 5
        These are the n-grams of the output; a match must be in the reference.
    4, 2 => 8, 4
        An n-gram counts at most as often as it occurs in the reference.
    """
    return [4, 2, 0, 0]
