"""Figures and tables of chapter 10."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.analysis.maps import attention_maps
from attnbook.core import results
from attnbook.core.vocabulary import BOS
from attnbook.decoding.greedy_search import greedy
from attnbook.models.transformer import Transformer
from attnbook.pages.colours import COLOURS, GREY, INK, TEXT_COLOURS
from attnbook.pages.curves import label_lines
from attnbook.pages.html_tables import Column, Table, table
from attnbook.pages.tables import shares, stored_runs
from attnbook.toy.data import TARGET, make_batch
from attnbook.toy.language import Pair

# What a word costs


def cost_figure() -> Figure:
    """Draw milliseconds a word by its place: with a cache, or all computed again."""
    stored = results.load("decode_cost")
    lines = {
        "recomputed": (stored["recomputed"]["1"], GREY),
        "with cache": (stored["cached"]["1"], COLOURS["target"]),
    }
    fig, ax = plt.subplots(figsize=(5.5, 3.0))
    for label, (times, colour) in lines.items():
        places = [int(n) for n in times]
        ax.plot(places, [*times.values()], marker="o", color=colour, label=label)
    ax.set(xlabel="words so far", ylabel="ms for the last word", ylim=(0, None))
    label_lines(ax)
    return fig


def cost_table() -> Table:
    """Show what the cache saves, and what it holds at larger batches."""
    stored = results.load("decode_cost")
    again, all_logits = (
        stored[name]["1"] for name in ("recomputed", "recomputed_all_logits")
    )
    batches = {b: f"{b} sentence{'s' * (b != '1')}" for b in stored["cached"]}
    groups = {
        "time for the last token, ms": [
            ("1 sentence, recomputed", *again.values()),
            ("1 sentence, recomputed, all logits", *all_logits.values()),
            *(
                (f"{batch}, with cache", *stored["cached"][b].values())
                for b, batch in batches.items()
            ),
        ],
        "size of the cache, MB": [
            (batch, *stored["cache_mb"][b].values()) for b, batch in batches.items()
        ],
    }
    heads = [Column(n, group="tokens so far", digits=1) for n in again]
    return table(["batch", *heads], groups)


# Where it looks


@torch.no_grad()
def decoding_frames(
    model: Transformer, pair: Pair
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw, step by step, where the decoder looks: in the source, in what it has said.

    Args:
        model: Trained.
        pair: A sentence of the toy language.

    Returns:
        For each step of greedy decoding a figure, a caption and an alternative text.
    """
    src = make_batch([pair]).src
    said = greedy(model, src, max_len=len(pair.target) + 2)  # (1, T)
    read = torch.cat([torch.tensor([[BOS]]), said[:, :-1]], dim=1)
    maps = attention_maps(model, src, read)
    cross, own = (
        torch.stack([w for name, w in maps.items() if name.endswith(end)])
        .mean(dim=(0, 2))[0]
        .tolist()
        for end in ("cross_attention", "decoder.0.self_attention")
    )
    words = [*pair.source, "<eos>"]
    target = [TARGET.words[i] for i in [BOS, *said[0].tolist()]]
    figures, captions, alts = [], [], []
    for t, weights in enumerate(cross):
        keys, own_weights = target[: t + 1], own[t][: t + 1]
        sides = (words, weights, "source"), (keys, own_weights, "target")
        figures.append(_decoding_frame(sides, len(cross)))
        most, word = max(zip(weights, words, strict=True), key=lambda look: look[0])
        captions.append(
            f"Position {t}: it has read {' '.join(keys)}, looks at {word} "
            f"({most:.2f}), and says {target[t + 1]}."
        )
        alts.append(
            f"Weights on the source: {shares(words, weights)}. "
            f"On its own words: {shares(keys, own_weights)}."
        )
    return figures, captions, alts


def _decoding_frame(sides: Sequence[tuple[list, list, str]], rows: int) -> Figure:
    """Bars of weights: words, weights and role of each side, in so many rows."""
    rows_drawn = max(rows, len(sides[0][0]))
    fig, axes = plt.subplots(1, 2, figsize=(5.5, 1.1 + 0.32 * rows))
    titles = "source", "its own words"
    for ax, title, (names, weights, role) in zip(axes, titles, sides, strict=True):
        ax.barh(range(len(names)), weights, color=COLOURS[role])
        ax.set_yticks(range(len(names)), names, color=TEXT_COLOURS[role])
        ax.set(xlim=(0, 1), xticks=(0, 1), ylim=(rows_drawn - 0.5, -0.5))
        ax.set(title=title, xlabel="weight")
        ax.tick_params(length=0)
    return fig


# Beams

CLAUSES = (3, 4)


def beams_table() -> Table:
    """Show what beams find where greedy does not: ``beams``, means over seeds."""
    nothing = (None, None)  # greedy is what the others are compared with
    rows = [("greedy", *_means(stored_runs("beams"), "greedy_exact"), *nothing)]
    widths = dict.fromkeys((run["width"], run["alpha"]) for run in stored_runs("beams"))
    for width, alpha in widths:
        if width > 1:  # 1 is greedy again
            runs = stored_runs("beams", width=width, alpha=alpha)
            cells = *_means(runs, "exact"), *_means(runs, "better")
            rows.append((f"W = {width}, α = {alpha:g}", *cells))
    heads = [
        Column(f"{n} clauses", "%", group, 1)
        for group in ("exact match", "more probable than greedy")
        for n in CLAUSES
    ]
    return table(["decoding", *heads], rows)


def _means(runs: Sequence[dict], entry: str) -> list[float]:
    """Means over seeds in per cent, at three and four clauses."""
    return [
        fmean(100 * run[entry] for run in runs if run["clauses"] == clauses)
        for clauses in CLAUSES
    ]


# Chance


def chance_figure(panels: dict[str, Tensor], words: Sequence[str]) -> Figure:
    """Draw distributions over some words below each other.

    Args:
        panels: For each title the probabilities, (V,).
        words: The V words.
    """
    fig, axes = plt.subplots(
        len(panels), sharex=True, figsize=(5.5, 1.25 * len(panels))
    )
    for ax, (title, p) in zip(axes, panels.items(), strict=True):
        ax.bar(range(len(words)), p.tolist(), color=COLOURS["target"])
        ax.text(len(words) - 0.5, 0.92, title, ha="right", va="top", color=INK)
        ax.set(ylim=(0, 1), yticks=(0, 1))
        ax.tick_params(axis="x", length=0)
    axes[-1].set_xticks(range(len(words)), words, color=TEXT_COLOURS["target"])
    fig.supylabel("probability", size="medium")
    return fig
