"""Masks for padding, for the future, and for both: three functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.differences import describe
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    expect_no_loop,
    expect_shape,
    operations,
)
from attnbook.nn.masks import causal_mask, key_mask, target_mask

IDS = torch.tensor([[5, 7, 4, 6], [8, 9, PAD, PAD], [3, PAD, PAD, PAD]])


def expect_mask(got: Any, wanted: Tensor, what: str, rule: str) -> None:
    """Raise Wrong unless a mask allows what it should; no place is told."""
    expect_shape(got, tuple(wanted.shape), what, "as long as the sentences")
    if torch.equal(got, wanted):
        return
    if (wanted & ~got).any():
        hidden = "a position is hidden that may be attended to"
        both = hidden + ", and another is open that may not" * bool(
            (got & ~wanted).any()
        )
        raise Wrong(f"in {what} {both}: {rule}.", got)
    raise Wrong(f"in {what} a position is open that may not be attended to.", got)


def shapes(keys: Callable, causal: Callable, target: Callable) -> None:
    """Shapes that broadcast to (B, H, T, S), and boolean."""
    named = {
        "key_mask(ids)": (keys(IDS), (3, 1, 1, 4), "(B, 1, 1, S)"),
        "causal_mask(t)": (causal(5), (5, 5), "(T, T)"),
        "target_mask(ids)": (target(IDS), (3, 1, 4, 4), "(B, 1, T, T)"),
    }
    for name, (got, shape, letters) in named.items():
        expect_shape(got, shape, name, letters)
        if got.dtype != torch.bool:
            raise Wrong(
                f"{name} is {describe(got)} of type {got.dtype}, not torch.bool."
            )


def padding(keys: Callable, causal: Callable, target: Callable) -> None:
    """True at real tokens, whatever their number."""
    for ids in (IDS, IDS[:1], IDS[1:, :2]):
        real = (ids != PAD)[:, None, None]
        expect_mask(keys(ids), real, "key_mask(ids)", "True = may attend")


def future(keys: Callable, causal: Callable, target: Callable) -> None:
    """Each position attends to itself and to those before it."""
    for t in (5, 1, 2):
        before = torch.arange(t) <= torch.arange(t)[:, None]
        rule = "row t is True at the columns 0 … t"
        expect_mask(causal(t), before, f"causal_mask({t})", rule)


def both(keys: Callable, causal: Callable, target: Callable) -> None:
    """No padding and no later position, wherever the padding stands."""
    for ids in (IDS, IDS.flip(1)):
        t = ids.shape[1]
        before = torch.arange(t) <= torch.arange(t)[:, None]
        allowed = (ids != PAD)[:, None, None] & before
        rule = "both conditions must hold"
        expect_mask(target(ids), allowed, "target_mask(ids)", rule)


def operation_count(keys: Callable, causal: Callable, target: Callable) -> None:
    """Longer sentences and more of them."""
    for name, mask in (("key_mask", keys), ("target_mask", target)):
        few, many = (
            operations(lambda mask=mask, n=n: mask(IDS.repeat(n, n))) for n in (1, 8)
        )
        expect_no_loop(few, many, f"positions and sentences in {name}")
    few, many = (operations(lambda n=n: causal(n)) for n in (3, 30))
    expect_no_loop(few, many, "positions in causal_mask")


def _keys(keys: Callable) -> tuple[Callable, Callable, Callable]:
    return keys, causal_mask, target_mask


def _causal(causal: Callable) -> tuple[Callable, Callable, Callable]:
    return key_mask, causal, target_mask


def _target(target: Callable) -> tuple[Callable, Callable, Callable]:
    return key_mask, causal_mask, target


def _rows(t: int) -> Tensor:
    return torch.stack([torch.arange(t) <= row for row in range(t)])


SHAPES = Stage(
    "shapes",
    "(B, 1, 1, S), (T, T) and (B, 1, T, T), boolean",
    shapes,
    (
        "The scores of a batch are (B, H, T, S). Which of these axes does a padding "
        "mask not depend on?",
        "`[:, None, None]` turns (B, S) into (B, 1, 1, S). A comparison such as `!=` "
        "gives a boolean tensor.",
    ),
    wrong(
        _keys(lambda ids: ids != PAD),
        "(B, S) would be taken for (T, S): put axes of length 1 for heads and queries "
        "in between.",
        _keys(lambda ids: (ids != PAD)[:, None]),
        "One axis is still missing: with heads the scores have four.",
        _keys(lambda ids: (ids != PAD)[:, None, None].float()),
        "Numbers 0 and 1 would be added to scores. A mask is boolean.",
        _causal(lambda t: torch.ones(t, t).tril()),
        "`torch.ones` holds numbers: a mask is boolean.",
        _target(lambda ids: causal_mask(ids.shape[1]) & key_mask(ids)[:, 0]),
        "The axis of the heads is missing: (B, 1, T, T).",
    ),
)
PADDING = Stage(
    "padding",
    "key_mask is True at real tokens, False at padding",
    padding,
    (
        "What does True mean in this course?",
        f"Compare the ids with PAD, which is {PAD}: real tokens are those that differ.",
    ),
    wrong(
        _keys(lambda ids: (ids == PAD)[:, None, None]),
        "You mark the padding. In this course True means: may attend.",
        _keys(lambda ids: torch.ones_like(ids).bool()[:, None, None]),
        "Your mask allows everything.",
        _keys(lambda ids: (ids > 3)[:, None, None]),
        "Special tokens other than PAD are real tokens: they may be attended to.",
    ),
)
FUTURE = Stage(
    "causal",
    "in causal_mask each position attends to itself and to those before it",
    future,
    (
        "Write down the mask for T = 3. Which entries of its first row are True?",
        "`torch.ones(t, t, dtype=torch.bool).tril()`, or compare `torch.arange(t)` "
        "with itself as a column.",
    ),
    wrong(
        _causal(lambda t: torch.ones(t, t).triu().bool()),
        "Yours is transposed: it shows the future and hides the past.",
        _causal(lambda t: torch.ones(t, t).tril(-1).bool()),
        "A position may attend to itself too. Otherwise the first row is fully masked.",
        _causal(lambda t: torch.ones(t, t).tril(1).bool()),
        "Your diagonal is one too high: each position sees its successor.",
        _causal(lambda t: torch.ones(t, t).bool()),
        "Your mask allows everything.",
    ),
)
BOTH = Stage(
    "both",
    "target_mask hides later positions and padding",
    both,
    (
        "A position must satisfy both conditions. Which operator joins them?",
        "`key_mask(ids) & causal_mask(ids.shape[1])` broadcasts to (B, 1, T, T).",
    ),
    wrong(
        _target(lambda ids: key_mask(ids) | causal_mask(ids.shape[1])),
        "With `|` one of the two conditions is enough. Both must hold.",
        _target(lambda ids: causal_mask(ids.shape[1]).expand(len(ids), 1, -1, -1)),
        "The padding is still open: the causal mask alone hides it only from those "
        "before it.",
        _target(lambda ids: key_mask(ids).expand(-1, 1, ids.shape[1], -1)),
        "Later positions are still open.",
        _target(
            lambda ids: key_mask(ids) & causal_mask(ids.shape[1]) & key_mask(ids).mT
        ),
        "You also mask whole rows, those of queries at padding. They are hidden from "
        "others as keys, and their output is never used.",
    ),
)
OPERATION_COUNT = Stage(
    "operation count",
    "longer or more sentences need no more operations",
    operation_count,
    (
        "A Python loop fills one row after another. Can one comparison fill all?",
        "`torch.arange(t) <= torch.arange(t)[:, None]` compares each column with each "
        "row.",
    ),
    wrong(
        _causal(_rows),
        "You fill the mask row by row: compare columns with rows at once.",
    ),
)

PART = Part(
    name="masks",
    chapter=6,
    names=("key_mask", "causal_mask", "target_mask"),
    ours=(key_mask, causal_mask, target_mask),
    stages=(SHAPES, PADDING, FUTURE, BOTH, OPERATION_COUNT),
)
