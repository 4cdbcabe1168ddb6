"""Figures and tables of laboratory page 10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from attnbook.analysis.maps import attention_maps
from attnbook.core import results
from attnbook.core.vocabulary import BOS
from attnbook.course.kit.colours import COLOURS, TEXT_COLOURS
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import shares, stored_runs
from attnbook.decoding.greedy_search import greedy
from attnbook.models.transformer import Transformer
from attnbook.toy.data import TARGET, make_batch
from attnbook.toy.language import Pair

# Beams

CLAUSES = (3, 4)


def beams_table() -> Table:
    """Compare beam search with greedy decoding: ``beams``, ranges over seeds."""
    nothing = (None, None)  # greedy is what the others are compared with
    rows = [("greedy", *_spreads(stored_runs("beams"), "greedy_exact"), *nothing)]
    widths = dict.fromkeys((run["width"], run["alpha"]) for run in stored_runs("beams"))
    for width, alpha in widths:
        if width > 1:  # 1 is greedy again
            runs = stored_runs("beams", width=width, alpha=alpha)
            cells = *_spreads(runs, "exact"), *_spreads(runs, "better")
            rows.append((f"W = {width}, α = {alpha:g}", *cells))
    heads = [
        Column(f"{n} clauses", "%", group, 1)
        for group in ("exact match", "more probable than greedy")
        for n in CLAUSES
    ]
    return table(["decoding", *heads], rows)


def _spreads(runs: Sequence[dict], entry: str) -> list[Spread]:
    """Mean and range over seeds in per cent, at three and four clauses."""
    return [
        spread(100 * run[entry] for run in runs if run["clauses"] == clauses)
        for clauses in CLAUSES
    ]


def silence_table() -> Table:
    """Captions whose empty translation is more probable, by length of the source."""
    counts, rows = results.load("silence")["by_length"], []
    for first, last in ((1, 9), (10, 14), (15, 19), (20, None)):
        of = [row for row in counts if first <= row[0] <= (last or row[0])]
        captions, silent = (sum(row[i] for row in of) for i in (1, 2))
        name = f"{first} to {last}" if last else f"{first} or more"
        rows.append((name, captions, silent, 100 * silent / captions))
    heads = [Column("captions"), Column("empty is more probable")]
    return table(["subwords", *heads, Column("share", "%")], rows)


def penalties_table() -> Table:
    """Show BLEU by the α of the length penalty: ``multi30k_en_de``, validation."""
    found = results.load("multi30k_en_de")["validation_bleu_by_alpha"]
    return table(
        ["α", Column("BLEU", digits=1)],
        [(f"{float(alpha):g}", bleu) for alpha, bleu in found.items()],
    )


def bayes_risk_table() -> Table:
    """BLEU and chrF by way of decoding, grouped by how samples are drawn."""
    groups: dict[str, list[tuple]] = {}
    for name, found in results.load("bayes_risk")["scores"].items():
        group, _, way = name.rpartition(": ")
        row = (way, found["bleu"], found["chrf"])
        groups.setdefault(group or "search", []).append(row)
    heads = [Column(name, digits=1) for name in ("BLEU", "chrF")]
    return table(["decoding", *heads], groups)


# Costs


def cost_table() -> Table:
    """Show the time of a step and the size of the cache by batch: ``decode_cost``."""
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


class Decoded(NamedTuple):
    """A sentence, its greedy translation, and where each step attended."""

    source: list[str]  # S words
    target: list[str]  # T + 1 words, <bos> first
    cross: list[list[float]]  # T x S weights, averaged over heads and layers
    own: list[list[float]]  # T x T weights, first layer, averaged over heads


def steps_table(model: Transformer, pair: Pair) -> Table:
    """Show for each step of greedy decoding the source word with the largest weight."""
    found = _decoded(model, pair)
    heads = ["input", "largest weight on", Column("weight", digits=2), "output"]
    rows = []
    for t, weights in enumerate(found.cross):
        weight, word = _largest(weights, found.source)
        rows.append((found.target[t], word, weight, found.target[t + 1]))
    return table(heads, rows)


def decoding_frames(
    model: Transformer, pair: Pair
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw, step by step, the attention to the source and to the tokens so far."""
    words, target, cross, own = _decoded(model, pair)
    figures, captions, alts = [], [], []
    for t, weights in enumerate(cross):
        keys, own_weights = target[: t + 1], own[t][: t + 1]
        sides = (words, weights, "source"), (keys, own_weights, "target")
        figures.append(_decoding_frame(sides, len(cross)))
        most, word = _largest(weights, words)
        captions.append(
            f"Position {t}: the prefix is {' '.join(keys)}; the largest weight on the "
            f"source is on {word} ({most:.2f}); the output is {target[t + 1]}."
        )
        alts.append(
            f"Weights on the source: {shares(words, weights)}. "
            f"On the prefix: {shares(keys, own_weights)}."
        )
    return figures, captions, alts


@torch.no_grad()
def _decoded(model: Transformer, pair: Pair) -> Decoded:
    """Translate greedily, and average the weights of every step."""
    src = make_batch([pair]).src
    output = greedy(model, src, max_len=len(pair.target) + 2)  # (1, T)
    read = torch.cat([torch.tensor([[BOS]]), output[:, :-1]], dim=1)
    maps = attention_maps(model, src, read)
    cross, own = (
        torch.stack([w for name, w in maps.items() if name.endswith(end)])
        .mean(dim=(0, 2))[0]
        .tolist()
        for end in ("cross_attention", "decoder.0.self_attention")
    )
    target = [TARGET.words[i] for i in [BOS, *output[0].tolist()]]
    return Decoded([*pair.source, "<eos>"], target, cross, own)


def _largest(weights: Sequence[float], words: Sequence[str]) -> tuple[float, str]:
    """The largest weight, and the word that it is on."""
    return max(zip(weights, words, strict=True), key=lambda look: look[0])


def _decoding_frame(sides: Sequence[tuple[list, list, str]], rows: int) -> Figure:
    """Bars of weights: words, weights and role of each side, in so many rows."""
    rows_drawn = max(rows, len(sides[0][0]))
    fig, axes = plt.subplots(1, 2, figsize=(5.5, 1.1 + 0.32 * rows))
    titles = "source", "prefix"
    for ax, title, (names, weights, role) in zip(axes, titles, sides, strict=True):
        ax.barh(range(len(names)), weights, color=COLOURS[role])
        ax.set_yticks(range(len(names)), names, color=TEXT_COLOURS[role])
        ax.set(xlim=(0, 1), xticks=(0, 1), ylim=(rows_drawn - 0.5, -0.5))
        ax.set(title=title, xlabel="weight")
        ax.tick_params(length=0)
    return fig
