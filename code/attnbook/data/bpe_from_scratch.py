"""Byte-pair encoding, simple enough to follow by hand: Sennrich et al. 2016.

For real text use :class:`attnbook.data.subwords.Subwords`, which does the same, fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

SymbolPair = tuple[str, str]


def count_pairs(
    segmented: Mapping[str, Sequence[str]], word_counts: Mapping[str, int]
) -> Counter[SymbolPair]:
    """Count how often two symbols are adjacent within a word.

    Args:
        segmented: The symbols of each word, in order.
        word_counts: How often each word occurs.

    Raises:
        ValueError: If a segmented word has no count.
    """
    counts: Counter[SymbolPair] = Counter()
    for word, symbols in segmented.items():
        if word not in word_counts:
            raise ValueError(f"{word!r} has no count; `word_counts` must hold it")
        for pair in pairwise(symbols):
            counts[pair] += word_counts[word]
    return counts


def merge_pair(symbols: Sequence[str], pair: SymbolPair) -> list[str]:
    """Merge every occurrence of a pair into one symbol, from left to right."""
    merged: list[str] = []
    for symbol in symbols:
        # A symbol just merged is longer than the pair's first one, so that of a a a
        # only the first two are merged.
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def learn_merges(word_counts: Mapping[str, int], n_merges: int) -> list[SymbolPair]:
    """Learn merges, the most frequent pair first: section 3.2, algorithm 1.

    Of several equally frequent pairs, the one that occurs first is merged.

    Args:
        word_counts: How often each word occurs, such as ``{"▁hand": 3}``. The marker
            of the beginning of a word, here SentencePiece's ``▁``, is a character like
            any other.
        n_merges: Number of merges; fewer are learned if every word is one symbol.

    Raises:
        ValueError: If ``n_merges`` is negative, or words come without counts.
    """
    if n_merges < 0:
        raise ValueError(f"n_merges is {n_merges}; it must be 0 or more")
    if not isinstance(word_counts, Mapping):
        raise ValueError(
            "word_counts must say how often each word occurs; give "
            "Counter(text.split()), for example"
        )
    segmented = {word: list(word) for word in word_counts}  # first into characters
    merges: list[SymbolPair] = []
    while len(merges) < n_merges:
        counts = count_pairs(segmented, word_counts)
        if not counts:
            break
        best = max(counts, key=counts.get)
        segmented = {
            word: merge_pair(symbols, best) for word, symbols in segmented.items()
        }
        merges.append(best)
    return merges


def apply_merges(word: str, merges: Sequence[SymbolPair]) -> list[str]:
    """Segment a word: start from its characters and apply the merges in their order."""
    symbols = list(word)
    for pair in merges:
        symbols = merge_pair(symbols, pair)
    return symbols
