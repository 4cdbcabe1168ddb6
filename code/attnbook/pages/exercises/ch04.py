"""Exercises of chapter 4."""

from __future__ import annotations

import math
from functools import partial

from torch import Tensor

from attnbook.pages.exercises.checking import register, wrong
from attnbook.pages.exercises.inputs import drawn

register(
    "ex4_look_up",
    reference=lambda q, k, v, beta: (beta * (k @ q)).softmax(0) @ v,
    inputs=lambda: drawn(
        ((3,), (4, 3), (4, 2), 1.0),
        ((2,), (5, 2), (5, 5), 3.0),
        ((4,), (3, 4), (3, 1), 0.5),
    ),
    hint="Scores are β times each key's dot product with q; then softmax, then values.",
    mistakes=wrong(
        lambda q, k, v, beta: beta * (k @ q).softmax(0) @ v,
        "β belongs inside of the softmax: it is to sharpen, not to enlarge.",
        lambda q, k, v, beta: (k @ q).softmax(0) @ v,
        "β is missing.",
        lambda q, k, v, beta: v[(k @ q).argmax()],
        "That is the hard dictionary: it takes one value and has no derivative.",
        lambda q, k, v, beta: (beta * (k @ q)) @ v,
        "Without a softmax the weights do not sum to 1.",
    ),
)

register(
    "ex4_spread",
    reference=4.0,
    hint="Each of the 100 products has variance 2² · 2²; the variances add up.",
    mistakes=wrong(
        1.0,
        "1 holds for numbers of deviation 1; 1/√d_k undoes the width alone.",
        2.0,
        "A product of two numbers of deviation 2 has a deviation of 2 · 2.",
        40.0,
        "That is the score before it is divided by √100 = 10.",
        16.0,
        "That is the variance; its root is asked for.",
        0.4,
        "You divide by d_k; it is √d_k.",
    ),
)


def _suspicious(
    q: Tensor, k: Tensor, v: Tensor, divisor: int = -2, axis: int = -2
) -> Tensor:
    """The page's faulty attention; each argument puts one fault right.

    Args:
        q: (B, T, d_k).
        k: (B, S, d_k).
        v: (B, S, d_v).
        divisor: The axis of k under the root; -1 is right.
        axis: The axis of the softmax; -1 is right.
    """
    scores = q @ k.mT / math.sqrt(k.shape[divisor])
    return scores.softmax(axis) @ v


register(
    "ex4_repair",
    reference=partial(_suspicious, divisor=-1, axis=-1),
    inputs=lambda: drawn(
        ((2, 3, 4), (2, 5, 4), (2, 5, 2)), ((1, 4, 9), (1, 4, 9), (1, 4, 3))
    ),
    hint="Which axis is d_k? Along which axis must the weights sum to 1?",
    mistakes=wrong(
        _suspicious,
        "Both faults are still there.",
        partial(_suspicious, divisor=-1),
        "One is found. Now sum the weights of one query over the keys.",
        partial(_suspicious, axis=-1),
        "One is found. Now look at what stands under the root.",
        lambda q, k, v: (q @ k.mT / k.shape[-1]).softmax(-1) @ v,
        "The root is missing: you divide by d_k.",
    ),
)


register(
    "ex4_one_matrix",
    reference=lambda w_q, w_k: w_q @ w_k.T,
    inputs=lambda: drawn(((4, 2), (4, 2)), ((3, 3), (3, 3))),
    hint="A score is (x_i W^Q)(x_j W^K)ᵀ. The transpose of a product turns its order.",
    mistakes=wrong(
        lambda w_q, w_k: w_k @ w_q.T,
        "That one is for the places in exchange: M and its transpose differ.",
        lambda w_q, w_k: w_q.T @ w_k,
        "This is (d_k, d_k); x_i M x_jᵀ needs (D, D).",
    ),
)


register(
    "ex4_jacobian",
    reference=lambda a: a.diag() - a.outer(a),
    inputs=lambda: [(e.softmax(0),) for (e,) in drawn(((2,),), ((3,),), ((5,),))],
    hint="Entry (i, j) is a_i (δ_ij - a_j), where δ_ij is 1 if i = j and else 0.",
    mistakes=wrong(
        lambda a: a.diag(),
        "The second term is missing: what one key gains, the others lose.",
        lambda a: (a * (1 - a)).diag(),
        "Off the diagonal stands -a_i a_j: a score moves the others too.",
        lambda a: a.outer(a) - a.diag(),
        "The sign is turned round: a higher score gives its own key more.",
        lambda a: a * (1 - a),
        "Those are the diagonal entries; the result has the shape (S, S).",
    ),
)
