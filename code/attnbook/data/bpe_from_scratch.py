"""Byte-pair encoding, small enough to follow with a pencil: Sennrich et al. 2016.

For real text take :class:`attnbook.data.subwords.Subwords`, which does the same, fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

SymbolPair = tuple[str, str]


def count_pairs(
    pieces: Mapping[str, Sequence[str]], words: Mapping[str, int]
) -> Counter[SymbolPair]:
    """Count how often two pieces stand side by side within a word.

    Args:
        pieces: Each word as its pieces, in order.
        words: How often each word occurs.

    Raises:
        ValueError: If a word has pieces but no count.
    """
    counts: Counter[SymbolPair] = Counter()
    for word, parts in pieces.items():
        if word not in words:
            raise ValueError(f"{word!r} has no count; `words` must hold every word")
        for pair in pairwise(parts):
            counts[pair] += words[word]
    return counts


def merge_pair(parts: Sequence[str], pair: SymbolPair) -> list[str]:
    """Make one piece of the two, from left to right, wherever they stand together."""
    joined: list[str] = []
    for part in parts:
        # A piece that has just been made is longer than the pair's first one, so that
        # of a a a only the first two become one.
        if joined and (joined[-1], part) == pair:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def learn_merges(words: Mapping[str, int], number: int) -> list[SymbolPair]:
    """Learn merges, the most frequent pair first: section 3.2, algorithm 1.

    Of pairs that are equally frequent, the one that is met first is taken.

    Args:
        words: How often each word occurs, such as ``{"▁hand": 3}``. What marks the
            begin of a word, here ``▁``, is a character like others.
        number: How many merges; fewer come out if every word is a single piece.

    Raises:
        ValueError: If ``number`` is negative.
    """
    if number < 0:
        raise ValueError(f"number is {number}; it must be 0 or more")
    pieces = {word: list(word) for word in words}  # at first, its characters
    learned: list[SymbolPair] = []
    while len(learned) < number:
        counts = count_pairs(pieces, words)
        if not counts:
            break
        best = max(counts, key=counts.get)
        pieces = {word: merge_pair(parts, best) for word, parts in pieces.items()}
        learned.append(best)
    return learned


def apply_merges(word: str, learned: Sequence[SymbolPair]) -> list[str]:
    """Cut a word into pieces: from its characters, by the merges in their order."""
    parts = list(word)
    for pair in learned:
        parts = merge_pair(parts, pair)
    return parts
