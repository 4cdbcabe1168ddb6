"""The reader's own file, ``my_transformer.py``: how it grows, chapter by chapter."""

import inspect
from html import escape

from attnbook.course.kit.exercises.my_transformer import FILE
from attnbook.course.kit.exercises.stages import MODULES, Part, find_part

EXERCISES = {
    "seq2seq": ("ch01_rnn_seq2seq", "ex1-seq2seq", "a translator without attention"),
    "bahdanau_step": ("ch02_bahdanau", "ex2-step", "attention of 2014"),
    "luong_step": ("ch03_luong", "ex3-step", "attention of 2015"),
    "attention": ("ch04_scaled_dot_product", "ex4-attention", "attention of today"),
    "MultiHeadAttention": ("ch05_multi_head", "ex5-multi-head", "several at once"),
    "masks": ("ch06_masks", "ex6-masks", "what may be looked at"),
    "positions": ("ch07_positions", "ex7-write", "word order"),
    "FeedForward": ("ch08_layers", "ex8-feed-forward", "each word alone"),
    "EncoderLayer": ("ch08_layers", "ex8-encoder-layer", "a layer that reads"),
    "DecoderLayer": ("ch08_layers", "ex8-decoder-layer", "a layer that writes"),
    "Transformer": ("ch09_transformer", "ex9-transformer", "all of it together"),
    "greedy": ("ch10_decoding", "ex10-greedy", "word after word"),
    "training": ("ch12_training", "ex12-training", "how it learns"),
}
"""For each part, the page and the exercise in which it is written, and what it is."""


def lines(part: Part) -> int:
    """Count the lines of a part's solution, without empty ones."""
    source = "\n".join(map(inspect.getsource, part.solution))
    return sum(bool(line.strip()) for line in source.splitlines())


class OwnFile:
    """The parts of the reader's file, as a list with a bar for the lines of each."""

    def __init__(self):
        self.parts = {name: lines(find_part(name)) for name in MODULES}

    def __repr__(self) -> str:
        return f"<{FILE}: {sum(self.parts.values())} lines>"

    def _repr_html_(self) -> str:
        rows = "\n".join(map(self._row, self.parts))
        total = f"{len(self.parts)} parts, {sum(self.parts.values())} lines"
        return (
            f'<div class="front-file"><p><code>{FILE}</code>: {total}</p>\n'
            f"<ol>\n{rows}\n</ol></div>"
        )

    def _row(self, name: str) -> str:
        page, exercise, what = EXERCISES[name]
        return (
            f'<li data-exercise="{exercise}" style="--lines: {self.parts[name]}">'
            f'<a href="{page}.html#{exercise}">{escape(name)}</a> '
            f"<span>{what}</span> <span>{self.parts[name]}</span></li>"
        )
