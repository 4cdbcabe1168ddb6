"""Validation of arguments: each error names the value, the rule and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD


def check_sizes(least: int = 1, /, **sizes: int) -> None:
    """Raise a ValueError that names the first size which is no integer from 1 on.

    Args:
        least: What to allow instead of 1.
        sizes: Of Python's or NumPy's integer types, by name.
    """
    for name, size in sizes.items():
        rule = f"{name} is {size!r}; it must be a whole number from {least} on"
        if not isinstance(size, Integral) or isinstance(size, bool):
            raise ValueError(f"{rule}, of type int: int({name}) turns a number into it")
        if size < least:
            raise ValueError(rule)


def check_shares(**shares: float) -> None:
    """Raise a ValueError that names the first number not from 0 to below 1."""
    for name, share in shares.items():
        rule = f"{name} is {share!r}; it is a share, a number from 0 (none) to below 1"
        if not isinstance(share, Real) or isinstance(share, bool):
            raise ValueError(f"{rule}: float({name}) turns text or a tensor into it")
        if not 0 <= share < 1:
            raise ValueError(rule)


def check_texts(**lists: object) -> None:
    """Raise a ValueError that names the first list which is a single text.

    A text is a sequence, too: its letters would be taken for texts.
    """
    for name, texts in lists.items():
        if isinstance(texts, (str, bytes)):
            raise ValueError(
                f"{name} is the text {texts[:40]!r}; give a list, such as [text], or "
                "text.split() where words are meant"
            )


def check_text(text: object) -> None:
    """Raise a ValueError unless a sentence is a text."""
    if not isinstance(text, str):
        raise ValueError(f"a sentence is {text!r:.40}; give a text, such as 'a dog'")


def check_some(things: Sequence, what: str) -> None:
    """Raise a ValueError if a mean would be over nothing."""
    if not len(things):
        raise ValueError(f"there is no {what}, so there is no mean; give at least one")


def check_dropout(dropout: float) -> None:
    """Raise a ValueError unless 0 ≤ dropout < 1."""
    check_shares(dropout=dropout)


ID_TYPES = (torch.int64, torch.int32)
"""The types of numbers that PyTorch takes for the rows of a table."""


def check_ids(**tensors: Tensor) -> None:
    """Raise a ValueError that names the first tensor which is not a batch of ids."""
    for name, ids in tensors.items():
        form = f"is a {type(ids).__name__}"
        if isinstance(ids, Tensor):
            if ids.dim() == 2 and ids.dtype in ID_TYPES:
                continue
            form = f"has shape {tuple(ids.shape)} and type {ids.dtype}"
        raise ValueError(
            f"{name} {form}; it must be a matrix of integer ids, one row a sentence, "
            "of 64 or 32 bits: attnbook.data.pad makes one of several lists of ids, "
            "ids[None] of one row, ids.long() of other integers"
        )


def check_token(token: Tensor, rows: int) -> None:
    """Raise a ValueError unless a step is given one id for each row of its state."""
    if token.dim() != 1 or token.dtype not in ID_TYPES:
        raise ValueError(
            f"token has shape {tuple(token.shape)} and type {token.dtype}; a step "
            "reads one integer id of each sentence, (B,), of 64 or 32 bits: give the "
            "columns of (B, T) one after the other"
        )
    if len(token) != rows:
        raise ValueError(
            f"there are {len(token)} tokens for a state of {rows} sentences; give one "
            "for each: select_rows takes rows of a state"
        )


def check_known(ids: Tensor, size: int, kind: str = "token") -> None:
    """Raise a ValueError that names the first id which has no row in a table."""
    if (unknown := ids_beyond(ids, size)).numel():
        raise ValueError(
            f"{kind} id {unknown[0].item()} is not in 0 … {size - 1}, the {size} rows "
            "of this model's table; encode with the vocabulary that it was made for, "
            "or make it with the size of yours"
        )


def ids_beyond(ids: Tensor, size: int) -> Tensor:
    """Those ids that are not from 0 to below the size."""
    return ids[(ids < 0) | (ids >= size)]


def check_source(src: Tensor, vocab_size: int | None = None) -> None:
    """Raise a ValueError unless ``src`` holds non-empty sentences of known tokens.

    It reads the ids themselves, for which a GPU has to be waited for. So it is called
    where a batch of sentences enters a model, and not in every forward pass.

    Args:
        src: Source ids, (B, S).
        vocab_size: None: any id is known.
    """
    check_ids(src=src)
    if not len(src):
        raise ValueError("a batch of 0 sentences; give at least one")
    if vocab_size is not None:
        check_known(src, vocab_size, "source")
    check_padded_right(wait=True, src=src)
    empty = ~(src != PAD).any(1)
    if empty.any():
        raise ValueError(
            f"source sentence {empty.nonzero()[0].item()} has no word, only padding; "
            "leave it out of the batch"
        )


def check_padded_right(wait: bool = False, **tensors: Tensor) -> None:
    """Raise a ValueError if padding stands before a token of its sentence.

    Positions are counted from the first id of a row, and a recurrent encoder reads as
    many ids from there as the row has tokens. So with padding on the left or inside, a
    model would read another sentence.

    Args:
        wait: Whether to look at ids on a GPU, which has to be waited for. Decoding does
            so once a batch, a forward pass does not. Nothing is looked at either while
            ``torch.compile`` traces.
        tensors: Ids, (B, T), by name.
    """
    for name, ids in tensors.items():
        if wait or (ids.device.type == "cpu" and not torch.compiler.is_compiling()):
            real = ids != PAD  # (B, T)
            gap = real[:, 1:] > real[:, :-1]
            if gap.any():
                raise ValueError(
                    f"{name}: sentence {gap.any(1).nonzero()[0].item()} has padding "
                    "before its last token; all of it must stand on the right: "
                    "attnbook.data.pad makes such a batch"
                )


def check_logits(logits: Tensor) -> None:
    """Raise a ValueError unless a token can be chosen by each row of logits, (..., V).

    Of log-probabilities, too: a softmax turns a whole row into NaN if one logit is NaN
    or +inf, or if all are -inf. That some are -inf is no fault.
    """
    if not logits.amax(-1).isfinite().all():
        raise ValueError(
            "the model's logits hold NaN or +inf, or allow no token, so none can be "
            "chosen; if its weights are not finite, its training diverged: take an "
            "earlier state, or train at a smaller learning rate; else decode in float32"
        )


def check_batch(src: Tensor, tgt_in: Tensor) -> None:
    """Raise a ValueError unless row i of the target can belong to row i of the source.

    Both must be ids, padded on the right, and have the same batch size.
    """
    check_ids(src=src, tgt_in=tgt_in)
    check_padded_right(src=src, tgt_in=tgt_in)
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
