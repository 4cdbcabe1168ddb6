"""Exercises of chapter 7."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.nn.positions import shift_matrix, sinusoids
from attnbook.nn.rotary import rotate
from attnbook.pages.exercises.checking import register, wrong

register(
    "ex7_who_notices",
    reference="bdf",
    hint="Ask of each: does anything in it depend on the number of a place?",
    mistakes=wrong(
        "abdf",
        "A mean is the same in any order.",
        "bcdf",
        "The same Linear at each place cannot know which place it is at.",
        "bf",
        "What stands before a word, and so what the mask lets it see, changes.",
        "bdef",
        "A kernel of width 1 sees one word, and is the same at each place.",
        "b",
        "Kernels and masks know left from right as well.",
    ),
)


def _never_seen(longest: int, t: int) -> list[int]:
    return [d for d in range(1 - t, t) if abs(d) >= longest]


register(
    "ex7_never_seen",
    reference=_never_seen,
    inputs=lambda: [(2, 4), (3, 5), (12, 24), (5, 5), (8, 3)],
    hint="How far apart are the first and the last of `longest` places, and of t?",
    mistakes=wrong(
        lambda longest, t: list(range(longest, t)),
        "Keys stand before a query as well as behind: distances may be negative.",
        lambda longest, t: [d for d in range(1 - t, t) if abs(d) > longest],
        "Two of `longest` places are at most longest - 1 apart.",
        lambda longest, t: [d for d in range(-t, t + 1) if abs(d) >= longest],
        "Two of t places are at most t - 1 apart.",
        lambda longest, t: sorted(_never_seen(longest, t), key=abs),
        "These are the distances, but not from the smallest to the largest.",
    ),
)


def _swap(embedding: Tensor, ids: Tensor, offset: int) -> Tensor:
    d = embedding.shape[1]
    return embedding[ids] * d**0.5 + sinusoids(ids.shape[1], d, offset)


def _embedding_and_ids() -> list[tuple[Tensor, Tensor, int]]:
    g = torch.Generator().manual_seed(0)
    sizes = ((7, 6, 3, 5, 0), (5, 4, 2, 70, 0), (5, 8, 2, 3, 12))  # V, D, B, T, offset
    return [
        (
            torch.randn(v, d, generator=g) / d**0.5,
            torch.randint(v, (b, t), generator=g),
            offset,
        )
        for v, d, b, t, offset in sizes
    ]


register(
    "ex7_swap",
    reference=_swap,
    inputs=_embedding_and_ids,
    hint="Look the rows up, multiply by √D, add sinusoids(T, D, offset).",
    mistakes=wrong(
        lambda e, ids, offset: _swap(e, ids, 0),
        "The first word given stands at position `offset`, not at 0.",
        lambda e, ids, offset: e[ids] + sinusoids(ids.shape[1], e.shape[1], offset),
        "The word vectors are still to be multiplied by √D.",
        lambda e, ids, offset: _swap(e, ids, offset) * e.shape[1] ** 0.5,
        "Only the word vectors are multiplied by √D, before the code is added.",
        lambda e, ids, offset: e[ids] * e.shape[1] ** 0.5,
        "The positions are missing.",
    ),
)


def _along_batch(x: Tensor) -> Tensor:
    return x + sinusoids(x.shape[0], x.shape[2])[:, None]


register(
    "ex7_first_axis",
    reference=lambda x: x + sinusoids(x.shape[1], x.shape[2]),
    inputs=lambda: [(torch.zeros(3, 3, 4),), (torch.ones(2, 5, 6),)],
    hint="Which axis of x counts sentences, and which the words of a sentence?",
    mistakes=wrong(
        _along_batch,
        "All words of a sentence get one code: positions run along the batch.",
        lambda x: x + sinusoids(x.shape[1], x.shape[2], offset=1),
        "Positions are counted from 0.",
    ),
)


def _later(code: Tensor, k: int) -> Tensor:
    return code @ shift_matrix(k, len(code), code.dtype).T


def _codes_and_steps() -> list[tuple[Tensor, int]]:
    places = ((0, 4, 1), (5, 4, 3), (17, 8, 10), (9, 6, -4))  # p, d, k
    return [(sinusoids(1, d, p, torch.float64)[0], k) for p, d, k in places]


register(
    "ex7_later",
    reference=_later,
    inputs=_codes_and_steps,
    hint="sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - "
    "sin a sin b, for each pair, with b = k ω.",
    mistakes=wrong(
        lambda code, k: _later(code, -k),
        "You went k positions back: a sign of the sines is turned.",
        lambda code, k: code + sinusoids(1, len(code), abs(k), code.dtype)[0],
        "Codes cannot be added up; each pair must be turned.",
        lambda code, k: rotate(code[None], offset=max(k, 0))[0],
        "`rotate` turns (a, b) as (cosine, sine); a code is (sine, cosine).",
        lambda code, k: torch.cat([_later(code[:2], k), code[2:]]),
        "Only the first pair is turned, or all at its speed; each has its own.",
    ),
)
