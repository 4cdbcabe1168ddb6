"""Chapter 12: what Multi30k contains, and how much of its batches is padding."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, SHADE, TEXT_COLOURS
from attnbook.course.kit.html_tables import Column, Table, table

METHODS = {
    "random": "drawn at random",
    "pooled": "sorted in pools of 16 batches",
    "sorted": "all sorted, cut by number of pairs",
    "tokens": "all sorted, cut by tokens",
}
"""Ways of cutting pairs into batches, as a reader calls them."""
DRAWN = ("random", "pooled", "tokens")


def data_table() -> Table:
    """Show what was counted in both languages: words, rare words, lengths."""
    stored = results.load("multi30k_facts")
    rows = []
    for language, name in (("en", "English"), ("de", "German")):
        found = stored["rows"][language]
        once = 100 * found["once"] / found["types"]
        unseen = 100 * found["val_sentences_unknown"] / stored["sentences"]["val"]
        lengths = (
            found["per_sentence"][unit] for unit in ("words", "subwords", "characters")
        )
        rows.append((name, found["words"], found["types"], once, unseen, *lengths))
    words, lengths = "training words", "mean length"
    heads = [
        Column("all", group=words),
        Column("distinct", group=words),
        Column("once", "%", words),
        Column("unseen", "%", "validation"),
        *(Column(unit, "", lengths, 1) for unit in ("words", "subwords", "characters")),
    ]
    return table(["language", *heads], rows)


def words_table() -> Table:
    """Show how many captions have the words of two sentences, and their fragments."""
    stored = results.load("caption_words")
    groups = {"words": stored["words"], "fragments": stored["pieces"]}
    rows = {name: [*counts.items()] for name, counts in groups.items()}
    return table(["in a caption", Column("captions")], rows)


def padding_table() -> Table:
    """Show the share of padding in one epoch, by the way batches are cut."""
    shares = results.load("multi30k_facts")["padding"]
    rows = [(name, 100 * shares[method]) for method, name in METHODS.items()]
    return table(["pairs are", Column("padding", "%", digits=1)], rows)


def batches_figure() -> Figure:
    """Draw one stored batch of three kinds, source and target, a pair in each row."""
    stored = results.load("multi30k_facts")
    fig, axes = plt.subplots(len(DRAWN), 2, sharex=True, sharey="row", figsize=(5.5, 6))
    for (left, right), method in zip(axes, DRAWN, strict=True):
        pairs = stored["shown"][method]
        sides = list(zip(*pairs, strict=True))  # lengths of sources, of targets
        for ax, side, lengths in zip(
            (left, right), ("source", "target"), sides, strict=True
        ):
            _draw_rows(ax, lengths, COLOURS[side])
        positions = len(pairs) * sum(map(max, sides))
        padding = 1 - sum(map(sum, sides)) / positions
        left.set_title(f"{METHODS[method]}: {len(pairs)} pairs, {padding:.0%} padding")
    for ax, side in zip(axes[-1], ("source", "target"), strict=True):
        ax.set_xlabel(f"{side} positions", color=TEXT_COLOURS[side])
    return fig


def _draw_rows(ax: Axes, lengths: Sequence[int], colour: str) -> None:
    """Draw sentences as rows, filled up with pale padding to the longest."""
    rows = range(len(lengths))
    ax.barh(rows, max(lengths), height=1, color=SHADE)
    ax.barh(rows, lengths, height=1, color=colour)
    ax.set(ylim=(len(lengths) - 0.5, -0.5), yticks=[], xticks=[0, 10, 20, 30])
