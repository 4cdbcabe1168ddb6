"""Be the attention: on the page the reader clicks, and the trained decoder writes.

What stands here at first, and stays in print, without scripts and in a notebook, is an
example. ``book/_static/live/ch02_clicks.js`` makes it live on the page.
"""

from __future__ import annotations

import json
from html import escape

from IPython.display import HTML

from attnbook.course.ch02.widget_film import gloss_table
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import AND_TARGET, translate_by_rule
from attnbook.toy.models import load_toy_model
from experiments.ch02_clicks import aligned_clicks, write_by_clicks

SENTENCES = (
    " ".join(held_out_pairs(2, 1)[0].source),
    "the old farmer sees a bird",
    "an old baker helps this child and the cat hears a small robot",
)
"""The first is that of the chapter's beginning."""


def clicks_figure() -> HTML:
    """Let the reader click the word that the decoder reads, step by step."""
    pair = translate_by_rule(SENTENCES[0])
    clicks = aligned_clicks(pair)
    output = write_by_clicks(load_toy_model("bahdanau"), pair.source, clicks)
    read, words = iter(clicks), []
    for word in output:
        below = "its own" if word == AND_TARGET else pair.source[next(read)]
        words.append(_card(word, below))
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


def _card(word: str, below: str) -> str:
    """A toy word with English below it."""
    look = "display: inline-block; text-align: center; margin: 0 0.35em 0.3em 0"
    return (
        f'<span class="clicks-card" style="{look}"><span lang="art-x-toy">{word}</span>'
        f"<br><small>{escape(below)}</small></span>"
    )
