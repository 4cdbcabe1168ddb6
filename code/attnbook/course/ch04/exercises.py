"""Exercises of chapter 4."""

from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise


@exercise(lambda: draw_inputs(((4, 2), (4, 2)), ((3, 3), (3, 3))))
def ex4_one_matrix(w_q: Tensor, w_k: Tensor) -> Tensor:
    """A score is (x_i W^Q)(x_j W^K)ᵀ. A transposed product has the reverse order.

    w_q @ w_k.T => w_k @ w_q.T
        That gives e_ji instead of e_ij: M and its transpose differ.
    w_q @ w_k.T => w_q.T @ w_k
        This is (d_k, d_k); x_i M x_jᵀ needs (D, D).
    """
    return w_q @ w_k.T


def _doubles() -> list[tuple[Tensor, ...]]:
    """Queries, keys and values, and the gradient of the output, in float64."""
    drawn = draw_inputs(
        ((2, 3), (3, 3), (3, 1), (2, 1)), ((3, 4), (5, 4), (5, 2), (3, 2))
    )
    return [tuple(x.double() for x in case) for case in drawn]


@exercise(_doubles)
def ex4_backward(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> tuple[Tensor, ...]:
    """Backwards: V and the weights from O = AV, the scores, then Q and K.

    of_scores / root => of_scores
        V is right. The scores are QKᵀ/√d_k, so the root is passed back, too.
    a * (of_a - (a * of_a).sum(-1, True)) => a * of_a
        V is right. What one weight gains the others lose: a row's mean is missing.
    a * (of_a - (a * of_a).sum(-1, True)) => a * (1 - a) * of_a
        V is right. A score moves the other weights of its row, too, by -α_i α_j.
    .sum(-1, True) => .sum(0)
        V is right. The softmax runs along a row, over the keys of one query.
    a * (of_a - (a * of_a).sum(-1, True)) => of_a
        V is right. Between the weights and the scores lies the softmax.
    """
    root = q.shape[-1] ** 0.5
    a = (q @ k.T / root).softmax(-1)  # (T, S)
    of_a = g @ v.T
    of_scores = a * (of_a - (a * of_a).sum(-1, True))
    of_products = of_scores / root
    return of_products @ k, of_products.T @ q, a.T @ g
