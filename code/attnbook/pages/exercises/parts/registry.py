"""The parts by name; a part's module is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from attnbook.pages.exercises.parts.stages import Part

MODULES = {
    "seq2seq": "seq2seq",
    "bahdanau_step": "bahdanau_step",
    "luong_step": "luong_step",
    "attention": "attention",
    "MultiHeadAttention": "multi_head",
    "masks": "masks",
    "positions": "positions",
    "FeedForward": "feed_forward",
    "EncoderLayer": "encoder_layer",
    "DecoderLayer": "decoder_layer",
    "Transformer": "transformer",
    "greedy": "greedy_search",
    "training": "training",
}
"""Parts and their modules, in the order in which the course writes them."""


def find_part(name: str) -> Part:
    """Look a part up.

    Args:
        name: Its name, such as "attention".

    Raises:
        ValueError: If there is no part of that name.
    """
    if name not in MODULES:
        raise ValueError(f"there is no part {name!r}; choose among {[*MODULES]}")
    return import_module(f"attnbook.pages.exercises.parts.{MODULES[name]}").PART
