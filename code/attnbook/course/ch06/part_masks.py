"""Masks for padding, for the future, and for both: three functions."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import expect
from attnbook.course.kit.exercises.differences import describe
from attnbook.course.kit.exercises.stages import Part, Wrong
from attnbook.nn import masks

IDS = torch.tensor([[5, 7, 4, 6], [8, 9, PAD, PAD], [3, PAD, PAD, PAD]])


def key_mask(ids):
    return (ids != PAD)[:, None, None]


def causal_mask(t):
    positions = torch.arange(t)
    return positions <= positions[:, None]


def target_mask(ids):
    return key_mask(ids) & causal_mask(ids.shape[1]).to(ids.device)


PART = Part(
    "masks",
    6,
    (masks.key_mask, masks.causal_mask, masks.target_mask),
    (key_mask, causal_mask, target_mask),
)


def expect_mask(got: Any, wanted: Tensor, what: str, rule: str) -> None:
    """Raise Wrong unless a mask allows what it should; no place is told."""
    expect.shape(got, tuple(wanted.shape), what, "as long as the sentences")
    if torch.equal(got, wanted):
        return
    if not (wanted & ~got).any():
        raise Wrong(f"in {what} a position is open that may not be attended to.", got)
    more = ", and another is open that may not" if (got & ~wanted).any() else ""
    hidden = f"a position is hidden that may be attended to{more}"
    raise Wrong(f"in {what} {hidden}: {rule}.", got)


@PART.stage("(B, 1, 1, S), (T, T) and (B, 1, T, T), boolean")
def shapes(keys: Callable, causal: Callable, target: Callable) -> None:
    """The scores of a batch are (B, H, T, S). Which of these axes does a padding mask
    not depend on?

    `[:, None, None]` turns (B, S) into (B, 1, 1, S). A comparison such as `!=` gives a
    boolean tensor.

    On "causal_mask.* shape": One mask for all sentences: a row for each query, a column
    for each key.

    On "target_mask.* shape": (B, 1, 1, S) and (T, T) broadcast, if you join them as
    they are.

    On "torch.bool": A comparison gives True and False; `.bool()` turns ones into True,
    `== 0` a mask of 0 and -inf that is added.

    (ids != PAD)[:, None, None] => ids != PAD
        (B, S) would be taken for (T, S): put axes of length 1 for heads and queries in
        between.
    [:, None, None] => [:, None]
        One axis is still missing: with heads the scores have four.
    [:, None, None] => [:, None, :, None]
        Padding as rows: this masks it as a query. It is masked as a key, on the last
        axis.
    [:, None, None] => [:, None, None].float()
        Numbers 0 and 1 would be added to scores. A mask is boolean.
    positions <= positions[:, None] => torch.ones(t, t).tril()
        `torch.ones` holds numbers: a mask is boolean.
    key_mask(ids) & => key_mask(ids)[:, 0] &
        The axis of the heads is missing: (B, 1, T, T).
    """
    for name, mask, given, shape, letters in (
        ("key_mask(ids)", keys, IDS, (3, 1, 1, 4), "(B, 1, 1, S)"),
        ("causal_mask(t)", causal, 5, (5, 5), "(T, T)"),
        ("target_mask(ids)", target, IDS, (3, 1, 4, 4), "(B, 1, T, T)"),
    ):
        got = mask(given)
        expect.shape(got, shape, name, letters)
        if got.dtype != torch.bool:
            raise Wrong(
                f"{name} is {describe(got)} of type {got.dtype}, not torch.bool."
            )


@PART.stage("key_mask is True at real tokens, False at padding")
def padding(keys: Callable, causal: Callable, target: Callable) -> None:
    """What does True mean in this course?

    Compare the ids with PAD, which is 0: real tokens are those that differ.

    On "attended to: True": Try a sentence without padding, and one with BOS or EOS:
    which of its positions are hidden?

    On "another is open": Yours is True where it should be False, and the other way
    round, for at least one token. What does True mean in this course?

    ids != PAD => ids == PAD
        You mark the padding. In this course True means: may attend.
    ids != PAD => ids == ids
        Your mask allows everything.
    ids != PAD => ids > 3
        Special tokens other than PAD are real tokens: they may be attended to.
    """
    for ids in (IDS, IDS[:1], IDS[1:, :2]):
        real = (ids != PAD)[:, None, None]
        expect_mask(keys(ids), real, "key_mask(ids)", "True = may attend")


@PART.stage("in causal_mask each position attends to itself and to those before it")
def causal(keys: Callable, causal: Callable, target: Callable) -> None:
    """Write down the mask for T = 3. Which entries of its first row are True?

    `torch.ones(t, t, dtype=torch.bool).tril()`, or compare `torch.arange(t)` with
    itself as a column.

    positions <= => positions >=
        Yours is transposed: it shows the future and hides the past.
    positions <= => positions <
        A position may attend to itself too. Otherwise the first row is fully masked.
    positions[:, None] => positions[:, None] + 1
        Your diagonal is one too high: each position sees its successor.
    positions[:, None] => positions[:, None] + t
        Your mask allows everything.
    """
    for t in (5, 1, 2):
        before = torch.arange(t) <= torch.arange(t)[:, None]
        rule = "row t is True at the columns 0 … t"
        expect_mask(causal(t), before, f"causal_mask({t})", rule)


@PART.stage("target_mask hides later positions and padding")
def both(keys: Callable, causal: Callable, target: Callable) -> None:
    """A position must satisfy both conditions. Which operator joins them?

    `key_mask(ids) & causal_mask(ids.shape[1])` broadcasts to (B, 1, T, T).

    key_mask(ids) & => key_mask(ids) |
        With `|` one of the two conditions is enough. Both must hold.
    key_mask(ids) & => (key_mask(ids) | True) &
        The padding is still open: the causal mask alone hides it only from those before
        it.
    causal_mask(ids.shape[1]) => (causal_mask(ids.shape[1]) | True)
        Later positions are still open.
    causal_mask(ids.shape[1]) => causal_mask(ids.shape[1]) & key_mask(ids).mT
        You also mask whole rows, those of queries at padding. They are hidden from
        others as keys, and their output is never used.
    """
    for ids in (IDS, IDS[1:, :3]):  # padding stands on the right only
        t = ids.shape[1]
        before = torch.arange(t) <= torch.arange(t)[:, None]
        allowed = (ids != PAD)[:, None, None] & before
        rule = "both conditions must hold"
        expect_mask(target(ids), allowed, "target_mask(ids)", rule)


@PART.stage("no loop over positions or sentences")
def operation_count(keys: Callable, causal: Callable, target: Callable) -> None:
    """A Python loop fills one row after another. Can one comparison fill all?

    `torch.arange(t) <= torch.arange(t)[:, None]` compares each column with each row.

    positions <= positions[:, None] => torch.stack([positions <= i for i in range(t)])
        You fill the mask row by row: compare columns with rows at once.
    """
    expect.no_loop(causal, 3, 30, "positions in causal_mask")
    few, many = IDS, F.pad(IDS.repeat(8, 1), (0, 28), value=PAD)
    expect.no_loop(keys, few, many, "positions and sentences in key_mask")
    expect.no_loop(target, few, many, "positions and sentences in target_mask")


@PART.stage("the masks of ids lie where ids lies, on a GPU too")
def devices(keys: Callable, causal: Callable, target: Callable) -> None:
    """
    .to(ids.device) =>
        `causal_mask(t)` is made on the CPU, and `&` would meet it there.
    """
    expect.same_device(lambda: (keys(IDS), target(IDS)), IDS)
