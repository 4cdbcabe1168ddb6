"""Exercises of chapter 4."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong
from attnbook.nn.scaled_dot_product import attention

register(
    "ex4_one_matrix",
    reference=lambda w_q, w_k: w_q @ w_k.T,
    inputs=lambda: draw_inputs(((4, 2), (4, 2)), ((3, 3), (3, 3))),
    hint="A score is (x_i W^Q)(x_j W^K)ᵀ. A transposed product has the reverse order.",
    mistakes=wrong(
        lambda w_q, w_k: w_k @ w_q.T,
        "That gives e_ji instead of e_ij: M and its transpose differ.",
        lambda w_q, w_k: w_q.T @ w_k,
        "This is (d_k, d_k); x_i M x_jᵀ needs (D, D).",
    ),
)


def _by_autograd(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> tuple[Tensor, ...]:
    """The gradients of queries, keys and values, from that of the output."""
    inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    return torch.autograd.grad(attention(*inputs), inputs, g)


def _by_hand(
    of_scores: Callable[[Tensor, Tensor], Tensor], scaled: bool = True
) -> Callable[..., tuple[Tensor, ...]]:
    """A backward pass with a mistake.

    Args:
        of_scores: From the weights and their gradient, (T, S) each, to the scores'.
        scaled: Whether the root is passed back, too.
    """

    def backward(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        root = q.shape[-1] ** 0.5
        weights = (q @ k.T / root).softmax(-1)
        passed = of_scores(weights, g @ v.T) / (root if scaled else 1)
        return passed @ k, passed.T @ q, weights.T @ g

    return backward


register(
    "ex4_backward",
    reference=_by_autograd,
    inputs=lambda: [
        tuple(x.double() for x in drawn)
        for drawn in draw_inputs(
            ((2, 3), (3, 3), (3, 1), (2, 1)), ((3, 4), (5, 4), (5, 2), (3, 2))
        )
    ],
    hint="Backwards: V and the weights from O = AV, the scores, then Q and K.",
    mistakes=wrong(
        _by_hand(lambda a, of_a: a * (of_a - (a * of_a).sum(-1, True)), scaled=False),
        "V is right. The scores are QKᵀ/√d_k, so the root is passed back, too.",
        _by_hand(lambda a, of_a: a * of_a),
        "V is right. What one weight gains the others lose: a row's mean is missing.",
        _by_hand(lambda a, of_a: a * (1 - a) * of_a),
        "V is right. A score moves the other weights of its row, too, by -α_i α_j.",
        _by_hand(lambda a, of_a: a * (of_a - (a * of_a).sum(0))),
        "V is right. The softmax runs along a row, over the keys of one query.",
        _by_hand(lambda a, of_a: of_a),
        "V is right. Between the weights and the scores lies the softmax.",
    ),
)
