"""Figures and data of chapter 6."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS
from attnbook.data.batching import pad, pooled
from attnbook.nn.masks import causal_mask, key_mask, padding_mask, target_mask
from attnbook.pages.colours import INK, SHADE, TEXT_COLOURS
from attnbook.pages.heat_maps import WHITE_LINES, heat_map
from attnbook.toy.data import SOURCE, toy_pairs
from attnbook.toy.language import ADJECTIVES, AND, DETERMINERS, NOUNS, VERBS, Pair

# Saying the next word


def next_words(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """What is read at each place, and the word to be said there: the next one.

    Args:
        pairs: B pairs; only their sources are used.

    Returns:
        Ids, (B, T), from ``BOS`` to the last word, and targets, (B, T), from the first
        word to ``EOS``.
    """
    sentences = [SOURCE.encode(pair.source) for pair in pairs]
    return pad([[BOS, *s] for s in sentences]), pad([[*s, EOS] for s in sentences])


def next_word_batches(
    mask_of: Callable[[Tensor], Tensor], seed: int, batch_size: int = 64
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Fresh sentences of one and two clauses for a ``OneLayer``, without end.

    Args:
        mask_of: Makes the mask of a batch from its ids.
        seed: The same seed gives the same sentences.
        batch_size: Sentences a batch, B.

    Yields:
        Ids, (B, T), their mask, and targets, (B, T, 1).
    """
    pairs = toy_pairs(seed, clauses=(1, 2))
    for group in pooled(pairs, batch_size, random.Random(seed)):
        ids, targets = next_words(group)
        yield ids, mask_of(ids), targets[..., None]


def best_share(pairs: Sequence[Pair]) -> float:
    """How often the likeliest next word is right, on average, if all before is known.

    The sentences are those of :func:`next_word_batches`: one clause or two, alike.

    Args:
        pairs: Whose sources are to be said; the kinds of words in them decide.

    Returns:
        The mean probability of the likeliest word, over all places, ``EOS`` included.
    """
    odds = [p for pair in pairs for p in _best_odds(pair.source)]
    return sum(odds) / len(odds)


def _best_odds(words: Sequence[str]) -> list[float]:
    """Probability of the likeliest next word after 0, 1, … words of a sentence."""
    odds, nouns = [1 / len(DETERMINERS)], 0
    for word in words:
        nouns += word in NOUNS
        if word in DETERMINERS:  # "a" is not followed by "old", the others by all
            odds.append(1 / (len(ADJECTIVES) + (word != "a")))
        elif word == "an":  # nothing else begins with a vowel
            odds.append(1.0)
        elif word in ADJECTIVES:
            odds.append(1 / len(NOUNS))
        elif word in VERBS or word == AND:
            odds.append(1 / len(DETERMINERS))
        else:  # a noun: of the subject, or the last of a first or second clause
            odds.append((1 / len(VERBS), 1 / 2, 1 / len(VERBS), 1.0)[nouns - 1])
    return odds


# Masks as maps


def masks_figure(src: Tensor, tgt: Tensor) -> Figure:
    """Draw the masks of a batch: one row a sentence, one column a kind.

    Args:
        src: Source ids, (B, S).
        tgt: Target ids, (B, T).
    """
    (b, s), t = src.shape, tgt.shape[1]
    kinds = {
        "padding": key_mask(src).expand(b, 1, s, s),
        "causal": causal_mask(t).expand(b, 1, t, t),
        "both": target_mask(tgt),
        "cross": key_mask(src).expand(b, 1, t, s),
    }
    fig, axes = plt.subplots(
        b,
        len(kinds),
        squeeze=False,
        figsize=(5.5, 0.7 + 1.4 * b),
        width_ratios=[masks.shape[-1] for masks in kinds.values()],  # cells alike
    )
    for column, (kind, masks) in zip(axes.T, kinds.items(), strict=True):
        for ax, mask in zip(column, masks[:, 0], strict=True):
            _map(ax, mask)
            ax.set_anchor("N")  # all titles at one height
        column[0].set_title(kind)
        column[-1].set_xlabel("key", color=TEXT_COLOURS["key"])
    for ax in axes[:, 0]:
        ax.set_ylabel("query", color=TEXT_COLOURS["query"])
    return fig


def detector_figure(panels: dict[str, tuple[Tensor, Tensor]]) -> Figure:
    """Draw who reacts to whom, beside what ought to be.

    A cross marks a leak: the output reacts to a place that it must not see. A ring
    marks what is lost: it ought to react, and does not.

    Args:
        panels: For each title the reactions and the mask that is wanted, both bool,
            (T, S). Three stand side by side: give three, six, …
    """
    rows = -(-len(panels) // 3)
    fig, axes = plt.subplots(rows, 3, squeeze=False, figsize=(5.5, 0.3 + 2.1 * rows))
    for ax, (title, (moved, wanted)) in zip(axes.flat, panels.items(), strict=True):
        _map(ax, moved)
        ax.set_title(title)
        for i, j in (moved != wanted).nonzero().tolist():
            mark, colour = ("×", "white") if moved[i, j] else ("○", INK)
            ax.text(
                j + 0.5, i + 0.5, mark, color=colour, ha="center", va="center_baseline"
            )
    for ax in axes[-1]:
        ax.set_xlabel("key changed", color=TEXT_COLOURS["key"])
    for ax in axes[:, 0]:
        ax.set_ylabel("output", color=TEXT_COLOURS["query"])
    return fig


def _map(ax: Axes, mask: Tensor) -> None:
    """Draw a bool matrix as cells, dark where it is True."""
    heat_map(ax, mask, cmap=[SHADE, "#57606A"], square=True, **WHITE_LINES)


def broken_masks(ids: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Six wrong masks of one padded sentence, and what each ought to be.

    Args:
        ids: (1, T), with pads at the end.

    Returns:
        For each title the mask and the right one, each (T, T).
    """
    t, real = ids.shape[1], padding_mask(ids)[0]
    every = torch.ones(t, t, dtype=torch.bool)
    encoder, decoder = real & every, target_mask(ids)[0, 0]
    return {
        "no causal": (encoder, decoder),
        "turned over": (decoder.T & real, decoder),
        "one too far": (every.tril(1) & real, decoder),
        "one too few": (every.tril(-1) & real, decoder),
        "no padding": (every, encoder),
        "pads as rows": (real[:, None] & every, encoder),
    }
