"""Exercises of chapter 12."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from attnbook.pages.exercises.checking import register, wrong


def _next_merge(
    pieces: dict[str, list[str]],
    counts: dict[str, int],
    weigh: bool = True,
    once: bool = False,
) -> tuple[str, str]:
    found: Counter = Counter()
    for word, parts in pieces.items():
        pairs = list(pairwise(parts))
        for pair in dict.fromkeys(pairs) if once else pairs:
            found[pair] += counts[word] if weigh else 1
    return max(found, key=found.get)


def _cut_words() -> list[tuple[dict, dict]]:
    """Words in pieces, and how often each occurs; one pair is the most frequent."""
    words = (
        {"▁ an": 3, "▁ i n": 4, "▁ t i n": 2},
        {"▁ r est": 9, "▁ w est": 6, "▁ r i s e": 4, "▁ w i d e": 1, "▁ w e t": 2},
        {"▁ b a n a n a": 3, "▁ b a t": 2, "▁ a n": 1},
    )
    return [
        (
            {word.replace(" ", ""): word.split() for word in counts},
            {word.replace(" ", ""): number for word, number in counts.items()},
        )
        for counts in words
    ]


register(
    "ex12_next_merge",
    reference=_next_merge,
    inputs=_cut_words,
    hint="Add counts[word] for every two pieces of a word that stand side by side.",
    mistakes=wrong(
        lambda pieces, counts: _next_merge(pieces, counts, weigh=False),
        "A word that occurs nine times has its pairs nine times: add counts[word].",
        lambda pieces, counts: _next_merge(pieces, counts, once=True),
        "A pair may stand in one word twice, as a n in banana: count both.",
        lambda pieces, counts: "".join(_next_merge(pieces, counts)),
        "Give the two pieces as a pair, not joined.",
        lambda pieces, counts: _next_merge(
            {word: list(word) for word in pieces}, counts
        ),
        "Count the pieces of a word, not its characters: some are joined already.",
    ),
)


def _rates(
    updates: int,
    peak: float,
    warmup: int,
    first: int = 1,
    choose: Callable[..., float] = min,
) -> list[float]:
    steps = range(first, first + updates)
    return [
        peak * choose(step / warmup, (warmup / max(step, 1)) ** 0.5) for step in steps
    ]


register(
    "ex12_rates",
    reference=_rates,
    inputs=lambda: [(10, 4e-3, 4), (6, 1.0, 1), (3, 0.5, 100)],
    hint="At update `warmup` both are 1. Which of them is smaller before, and after?",
    mistakes=wrong(
        lambda updates, peak, warmup: _rates(updates, peak, warmup, 0, max),
        (
            "The rate falls first and then grows without end: take the smaller one. "
            "And what is the rate of the first update?"
        ),
        lambda updates, peak, warmup: _rates(updates, peak, warmup, 0),
        "The first update has a rate of 0 and does nothing: count from 1.",
        lambda updates, peak, warmup: _rates(updates, peak, warmup, 1, max),
        "The rate falls first and then grows without end: take the smaller one.",
    ),
)


def update_loss(losses: list[Tensor], real: list[Tensor]) -> Tensor:
    """The right answer of ex12_update_loss."""
    tokens = sum(mask.sum() for mask in real)
    return sum(loss.sum() for loss in losses) / tokens


def _mean_of_means(losses: list[Tensor], real: list[Tensor]) -> Tensor:
    parts = [x.sum() / mask.sum() for x, mask in zip(losses, real, strict=True)]
    return torch.stack(parts).mean()


def _with_pads(losses: list[Tensor], real: list[Tensor]) -> Tensor:
    return torch.cat([loss.flatten() for loss in losses]).mean()


def _means_with_pads(losses: list[Tensor], real: list[Tensor]) -> Tensor:
    return torch.stack([loss.mean() for loss in losses]).mean()


def _losses() -> list[tuple[list[Tensor], list[Tensor]]]:
    g = torch.Generator().manual_seed(0)
    cases = []
    for lengths in ([[2, 5], [3]], [[4, 4, 1], [7, 2]]):
        losses, real = [], []
        for group in lengths:
            mask = torch.arange(max(group)) < torch.tensor(group)[:, None]
            real.append(mask)
            losses.append(torch.rand(mask.shape, generator=g) * mask)
        cases.append((losses, real))
    return cases


register(
    "ex12_matches",
    reference=[4, 2, 0, 0],
    hint="Write down the reference's pairs of words, and how often it has each.",
    mistakes=wrong(
        [8, 7, 6, 5],
        "These are the runs said; a run must be in the reference.",
        [8, 4, 0, 0],
        "A run counts no more often than the reference has it.",
    ),
)

register(
    "ex12_update_loss",
    reference=update_loss,
    inputs=_losses,
    hint="The sum over all real tokens of the update, divided by their number.",
    mistakes=wrong(
        _mean_of_means,
        "A batch of few tokens weighs as much as one of many.",
        _with_pads,
        "Pads add nothing to the sum, but you count them.",
        _means_with_pads,
        "Pads are counted, and batches weigh alike.",
    ),
)


def output_share(n: int, d: int, d_ff: int, layers: int, v: int) -> float:
    """The right answer of ex12_output_share."""
    return d * v / (layers * (12 * d * d + 4 * d * d_ff + 6 * n * d) + d * v)


def _encoder_alone(n: int, d: int, d_ff: int, layers: int, v: int) -> float:
    return d * v / (layers * (4 * d * d + 2 * d * d_ff + 2 * n * d) + d * v)


def _beside_the_rest(n: int, d: int, d_ff: int, layers: int, v: int) -> float:
    return d * v / (layers * (12 * d * d + 4 * d * d_ff + 6 * n * d))


register(
    "ex12_output_share",
    reference=output_share,
    inputs=lambda: [(14, 128, 256, 4, 8000), (27, 512, 2048, 6, 37000)],
    hint="All terms of the formula are of one token; which of them is the output's?",
    mistakes=wrong(
        _encoder_alone,
        "You left out the decoder's layers.",
        _beside_the_rest,
        "Divide by the whole pass, with the output in it.",
    ),
)
