"""Exercises of chapter 5."""

from __future__ import annotations

from torch import Tensor

from attnbook.nn.multi_head import merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention
from attnbook.pages.exercises.checking import register, wrong
from attnbook.pages.exercises.inputs import drawn


def _parameters(d_model: int, n_heads: int, bias: bool) -> int:
    return 4 * d_model * (d_model + bias)


register(
    "ex5_parameters",
    reference=_parameters,
    inputs=lambda: [(768, 12, True), (768, 24, True), (64, 2, False), (12, 3, True)],
    hint="Four maps from D numbers to D: W^Q, W^K, W^V of all heads, and one W^O.",
    mistakes=wrong(
        lambda d, h, bias: 3 * d * (d + bias),
        "W^O is missing.",
        lambda d, h, bias: (3 * h + 1) * d * (d + bias),
        "A head's matrices are D × d_k, not D × D: H of them together make D × D.",
        lambda d, h, bias: 4 * d * d,
        "With bias each map adds a vector of D numbers.",
        lambda d, h, bias: 3 * (d // h) * (d // h + bias) + d * (d + bias),
        "Each head reads all D numbers of a place, not only d_k of them.",
    ),
)


register(
    "ex5_merge",
    reference=merge_heads,
    inputs=lambda: drawn(((2, 2, 3, 4),), ((1, 3, 5, 2),), ((3, 2, 4, 1),)),
    hint="Bring the head's axis behind T, before d_k; then make one axis of the two.",
    mistakes=wrong(
        lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
        (
            "The shape is right, the numbers are not: reshape lays places side by "
            "side. The heads must first go behind the places."
        ),
        lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
        "Your numbers of all heads alternate; each head's belong together.",
        lambda heads: heads.transpose(1, 2),
        "The axes are in order; now make one of the last two.",
        lambda heads: heads.sum(1),
        "You add the heads up. They are laid side by side.",
    ),
)


def _reach(i: int, length: int, n_heads: int) -> list[int]:
    block = length // n_heads
    first = i // block * block
    return [*range(first, first + block)]


register(
    "ex5_wrong_reach",
    reference=_reach,
    inputs=lambda: [(0, 12, 4), (9, 24, 3), (5, 12, 2), (3, 8, 8), (9, 10, 1)],
    hint="The wrong view gives head h the places h L/H … (h + 1) L/H - 1, whole.",
    mistakes=wrong(
        lambda i, length, h: [*range(length)],
        "That is the right split: every place. The wrong one cuts the places up.",
        lambda i, length, h: [*range(i % h, length, h)],
        "A head gets neighbouring places, not every H-th.",
        lambda i, length, h: [*range(i // h * h, min(i // h * h + h, length))],
        "There are H blocks of L/H places, not blocks of H places.",
    ),
)


def _heads_attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int) -> Tensor:
    """The function of the page: attention among the heads of one place."""
    b, t, d = q.shape
    q, k, v = (x.view(b, t, n_heads, d // n_heads) for x in (q, k, v))
    return attention(q, k, v).reshape(b, t, d)


def _attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int) -> Tensor:
    return merge_heads(attention(*(split_heads(x, n_heads) for x in (q, k, v))))


register(
    "ex5_find_the_bug",
    reference=_attend,
    inputs=lambda: drawn(
        (*3 * [(2, 5, 8)], 2), (*3 * [(1, 4, 4)], 4), (*3 * [(2, 3, 6)], 1)
    ),
    hint="Write down the shape of the scores. Which two axes should they have last?",
    mistakes=wrong(
        _heads_attend,
        (
            "That is the function as it was. Its scores are (B, T, H, H): the heads of "
            "one place attend to each other, and no place to another."
        ),
        lambda q, k, v, h: attention(*(split_heads(x, h) for x in (q, k, v))).reshape(
            q.shape
        ),
        (
            "The split is right; but the heads must go back behind the places before "
            "their parts are laid side by side."
        ),
        lambda q, k, v, h: attention(q, k, v),
        "That is one head of full width.",
    ),
)


def _shares(heads: Tensor, w_o: Tensor) -> Tensor:
    return heads @ w_o.view(heads.shape[1], heads.shape[-1], -1)  # (B, H, T, D)


register(
    "ex5_head_shares",
    reference=_shares,
    inputs=lambda: drawn(((2, 2, 5, 4), (8, 8)), ((1, 3, 4, 2), (6, 6))),
    hint="Rows h d_k … (h + 1) d_k - 1 of W^O belong to head h: multiply it by them.",
    mistakes=wrong(
        lambda heads, w: merge_heads(heads) @ w,
        "That is the sum over the heads; wanted are its H terms.",
        lambda heads, w: heads @ w.view(len(w), heads.shape[1], -1).permute(1, 2, 0),
        "You take columns of W^O; a head's part, a row, meets rows of W^O.",
        lambda heads, w: heads @ w.view(-1, heads.shape[1], len(w)).transpose(0, 1),
        "Your head h takes every H-th row of W^O; its d_k rows are neighbours.",
    ),
)
