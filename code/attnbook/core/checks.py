"""Validation of arguments: each error names the value, the rule and the remedy."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD


def check_sizes(**sizes: int) -> None:
    """Raise a ValueError that names the first size which is not a positive integer."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} is {size!r}; it must be a whole number from 1 on")


def check_dropout(dropout: float) -> None:
    """Raise a ValueError unless 0 ≤ dropout < 1."""
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout!r}; it is a share, from 0 to below 1")


def check_ids(**tensors: Tensor) -> None:
    """Raise a ValueError that names the first tensor which is not a batch of ids."""
    for name, ids in tensors.items():
        if ids.dim() != 2 or ids.dtype not in (torch.int64, torch.int32):
            raise ValueError(
                f"{name} has shape {tuple(ids.shape)} and type {ids.dtype}; it must be "
                "a matrix of integer ids, one row a sentence: pad makes one of several "
                "sentences, ids[None] of one"
            )


def check_source(src: Tensor, vocab_size: int) -> None:
    """Raise a ValueError unless ``src`` holds non-empty sentences of known tokens.

    It reads the ids themselves, for which a GPU has to be waited for. So it is called
    where a batch of sentences enters a model, and not in every forward pass.
    """
    check_ids(src=src)
    if not len(src):
        raise ValueError("a batch of 0 sentences; give at least one")
    unknown = (src < 0) | (src >= vocab_size)
    if unknown.any():
        raise ValueError(
            f"source id {src[unknown][0].item()} is not in 0 … {vocab_size - 1}, this "
            "model's source tokens; encode with the vocabulary that it was made for"
        )
    empty = ~(src != PAD).any(1)
    if empty.any():
        raise ValueError(
            f"source sentence {empty.nonzero()[0].item()} has no word, only padding; "
            "leave it out of the batch"
        )


def check_padded_right(src: Tensor) -> None:
    """Raise a ValueError if padding stands before a token of its sentence.

    A recurrent encoder reads the first tokens of each row, as many as it has.
    """
    gap = (src[:, :-1] == PAD) & (src[:, 1:] != PAD)
    if gap.any():
        raise ValueError(
            f"source sentence {gap.any(1).nonzero()[0].item()} has padding before its "
            "last token; a recurrent encoder expects all of it on the right: pad makes "
            "such a batch"
        )


def check_batch(src: Tensor, tgt_in: Tensor) -> None:
    """Raise a ValueError unless source and target have the same batch size."""
    check_ids(src=src, tgt_in=tgt_in)
    if len(src) != len(tgt_in):
        raise ValueError(
            f"the batch has {len(src)} source but {len(tgt_in)} target sentences; "
            "row i of the target must translate row i of the source"
        )


KINDS = {
    **{int: "a whole number", float: "a number", str: "text"},
    **{dict: "an object {…}", list: "a list […]"},
}
"""The types of stored entries, in words."""


def check_entries(path: object, values: dict, remedy: str, /, **kinds: type) -> None:
    """Raise a ValueError unless stored values have the types that they were written as.

    Args:
        path: Where they were read, to be named.
        values: By name.
        remedy: What to do if one is wrong, for the message.
        kinds: The wanted types, keys of :data:`KINDS`; for float, an int will do.
    """
    for name, kind in kinds.items():
        if name not in values:
            raise ValueError(f"{path} has no entry {name!r}; {remedy}")
        wanted = (int, float) if kind is float else kind
        value = values[name]
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(
                f"{path}: {name} is {value!r}; it must be {KINDS[kind]}; {remedy}"
            )
