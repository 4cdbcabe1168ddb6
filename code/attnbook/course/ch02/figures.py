"""Figures and tables of chapter 2, and what its laboratory shares with them."""

import json
from collections.abc import Sequence
from html import escape

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.ch02.clicks import aligned_clicks, write_by_clicks
from attnbook.course.kit.glosses import card, gloss_table
from attnbook.course.kit.heat_maps import (
    PALE_LINES,
    colour_bar,
    columns_on_top,
    heat_map,
    numbers_from,
)
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import AND_TARGET, translate_by_rule
from attnbook.toy.models import load_toy_model

# Be the attention: the reader clicks, and the trained decoder writes

SENTENCES = (
    " ".join(held_out_pairs(2, 1)[0].source),
    "the old farmer sees a bird",
    "an old baker helps this child and the cat hears a small robot",
)
"""What can be written by clicks; the first is that of the chapter's beginning."""


def clicks_figure() -> HTML:
    """Let the reader click the word that the decoder reads, step by step.

    What stands here at first, and stays in print, without scripts and in a notebook, is
    an example. ``book/_static/live/ch02_clicks.js`` makes it live on the page.
    """
    pair = translate_by_rule(SENTENCES[0])
    clicks = aligned_clicks(pair)
    output = write_by_clicks(load_toy_model("bahdanau"), pair.source, clicks)
    read, words = iter(clicks), []
    for word in output:
        below = "its own" if word == AND_TARGET else pair.source[next(read)]
        words.append(card(word, below))
    given = {
        "sentences": json.dumps(SENTENCES),
        "gloss": json.dumps(gloss_table()),
    }
    data = "".join(f' data-{name}="{escape(text)}"' for name, text in given.items())
    return HTML(
        f'<div class="live-model live-clicks"{data}>\n'
        f"<p>Source: <em>{escape(SENTENCES[0])}</em></p>\n"
        '<p class="clicks-said">An example. Clicked, one after another: '
        f"{escape(', '.join(pair.source[j] for j in clicks))}. "
        "The model chose where to write <em>ul</em>.</p>\n"
        f'<p class="clicks-output">{" ".join(words)}</p>\n</div>'
    )


# Alignment maps


def word_map_figure(
    weights: Tensor, target: Sequence[str], source: Sequence[str]
) -> Figure:
    """Draw the weights of a sentence whose alignment nobody knows."""
    cells = 100 * weights
    size = max(5.5, 1.8 + 0.36 * len(source)), 2.4 + 0.27 * len(target)
    fig, ax = plt.subplots(figsize=size)
    heat_map(
        ax,
        cells,
        rows=target,
        columns=source,
        roles=("target", "source"),
        titles=("target word", "source word"),
        turn=60,
        notes=numbers_from(cells, 10),
        vmax=100,
        **PALE_LINES,
    )
    columns_on_top(ax)
    colour_bar(ax, "weight, %")
    return fig


# Do weights explain?


def links_table() -> Table:
    """How often the largest weight of the caption translator finds the linked word."""
    found = results.load("caption_links")
    rows = [
        (name, of["links"], *(100 * hits / of["links"] for hits in (of["found"], way)))
        for name, of, way in (
            ("all", found, found["diagonal"]),
            ("moved", found["moved"], 0),
        )
    ]
    heads = [Column("largest weight", "%"), Column("diagonal", "%")]
    return table(["links", Column("number"), *heads], rows)
