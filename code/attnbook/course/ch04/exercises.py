"""Exercises of chapter 4."""

from __future__ import annotations

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong

register(
    "ex4_spread",
    reference=4.0,
    hint="Each of the 100 products has variance 2² · 2²; the variances add up.",
    mistakes=wrong(
        1.0,
        "1 holds for components of standard deviation 1; 1/√d_k only undoes the width.",
        2.0,
        "A product of two components of standard deviation 2 has 2 · 2.",
        40.0,
        "That is the score before it is divided by √100 = 10.",
        16.0,
        "That is the variance; we ask for its square root.",
        0.4,
        "You divide by d_k; it is √d_k.",
    ),
)


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


register(
    "ex4_jacobian",
    reference=lambda a: a.diag() - a.outer(a),
    inputs=lambda: [(e.softmax(0),) for (e,) in draw_inputs(((2,),), ((3,),), ((5,),))],
    hint="Entry (i, j) is α_i (δ_ij - α_j), where δ_ij is 1 if i = j and else 0.",
    mistakes=wrong(
        lambda a: a.diag(),
        "The second term is missing: what one weight gains, the others lose.",
        lambda a: (a * (1 - a)).diag(),
        "Off the diagonal it is -α_i α_j: a score changes the other weights too.",
        lambda a: a.outer(a) - a.diag(),
        "The sign is wrong: a higher score gives its own key more weight.",
        lambda a: a * (1 - a),
        "Those are the diagonal entries; the result has the shape (S, S).",
    ),
)
