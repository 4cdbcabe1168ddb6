"""The parts by name; a part's module is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from attnbook.course.kit.exercises.stages import Part

MODULES = {
    "seq2seq": "ch01.part_seq2seq",
    "bahdanau_step": "ch02.part_bahdanau_step",
    "luong_step": "ch03.part_luong_step",
    "attention": "ch04.part_attention",
    "MultiHeadAttention": "ch05.part_multi_head",
    "masks": "ch06.part_masks",
    "positions": "ch07.part_positions",
    "FeedForward": "ch08.part_feed_forward",
    "EncoderLayer": "ch08.part_encoder_layer",
    "DecoderLayer": "ch08.part_decoder_layer",
    "Transformer": "ch09.part_transformer",
    "greedy": "ch10.part_greedy_search",
    "training": "ch12.part_training",
}
"""Parts and their modules, in the order in which the course writes them."""


def find_part(name: str) -> Part:
    """Look a part up by its name, such as "attention".

    Raises:
        ValueError: If there is no part of that name.
    """
    if name not in MODULES:
        raise ValueError(f"there is no part {name!r}; choose among {[*MODULES]}")
    return import_module(f"attnbook.course.{MODULES[name]}").PART
